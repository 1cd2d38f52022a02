// The clusters of a moment as a CSV file.

import { byId } from "./dom";
import * as format from "./format";
import type { Store } from "./store";

export function offerTable(store: Store): void {
  byId("csv").addEventListener("click", () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob(["\ufeff", tableOf(store)], { type: "text/csv" }));
    link.download = `${store.title || "scstream"}-clusters.csv`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  });
}

function tableOf(store: Store): string {
  const moment = store.current!;
  const words = Object.keys(moment.words?.[0] ?? {});
  const columns = moment.means ? store.columns : [];
  const fixed = ["cluster", ...(moment.groups ? ["group"] : []), "share", "rows", ...(store.single ? [] : ["born"]), "different"];
  const rows = store.order().map((i) => [
    moment.ids[i],
    ...(moment.groups ? [moment.groups[i]] : []),
    moment.weights[i],
    moment.counts[i],
    ...(store.single ? [] : [format.time(moment.born[i]!)]),
    moment.says?.[i],
    ...columns.map((_, j) => moment.means![i]![j]),
    ...words.map((name) => Object.entries(moment.words![i]![name] ?? {}).map(([word, part]) => `${word} ${format.share(part)}`).join(", ")),
  ]);
  return [[...fixed, ...columns, ...words], ...rows].map((row) => `${row.map(cell).join(",")}\r\n`).join("");
}

// Text that a spreadsheet would take for a formula gets a mark before it.
function cell(value: string | number | null | undefined): string {
  if (typeof value !== "string") return String(value ?? "");
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
