// Builds the page into the package: node build.mjs [FOLDER]
import { build } from "esbuild";
import { cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import path from "node:path";

const here = path.dirname(fileURLToPath(import.meta.url));
const out = process.argv[2] ?? path.join(here, "../src/scstream/web/page");

await mkdir(out, { recursive: true });
await build({
  absWorkingDir: here,
  entryPoints: { page: "src/main.ts" },
  outdir: out,
  bundle: true,
  minify: true,
  target: "es2022",
  format: "iife",
  legalComments: "none",
  logLevel: "warning",
});
await build({
  absWorkingDir: here,
  entryPoints: { page: "src/style.css" },
  outdir: out,
  bundle: true,
  minify: true,
  target: "es2022",
  logLevel: "warning",
});
for (const name of ["index.html", "docs.html", "openapi.json"]) {
  await cp(path.join(here, "src", name), path.join(out, name));
}
await build({
  absWorkingDir: here,
  entryPoints: { docs: "src/docs.ts" },
  outdir: out,
  bundle: true,
  minify: true,
  target: "es2022",
  format: "iife",
  logLevel: "warning",
});
const license = await readFile(path.join(here, "node_modules/uplot/LICENSE"), "utf8");
await writeFile(path.join(out, "LICENSE-uPlot.txt"), license);
