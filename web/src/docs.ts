// The description of the service, drawn from its own OpenAPI document.

import { byId, make, table } from "./dom";

interface Operation {
  summary: string;
  parameters?: { name: string; description: string; schema: { default?: string } }[];
  requestBody?: { content: Record<string, unknown> };
  responses: Record<string, { description: string }>;
}

async function start(): Promise<void> {
  const answer = await fetch("openapi.json");
  const found = (await answer.json()) as { info: { version: string }; paths: Record<string, Record<string, Operation>> };
  const parts: Node[] = [make("p", `scstream ${found.info.version}`)];
  for (const [path, operations] of Object.entries(found.paths)) {
    for (const [verb, operation] of Object.entries(operations)) {
      const section = make("section");
      section.append(make("h2", `${verb.toUpperCase()} ${path}`), make("p", operation.summary));
      for (const p of operation.parameters ?? []) {
        section.append(make("p", `?${p.name}=${p.schema.default ?? ""} – ${p.description}`));
      }
      if (operation.requestBody) {
        section.append(make("p", `Body: ${Object.keys(operation.requestBody.content).join(" or ")}`));
      }
      const rows = Object.entries(operation.responses).map(([status, r]) => [status, r.description]);
      section.append(table(["status", "meaning"], rows));
      parts.push(section);
    }
  }
  byId("docs").replaceChildren(...parts);
}

void start();
