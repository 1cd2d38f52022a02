// Numbers, the list of clusters, and the rows that were hardly expected.

import type { KeptRow } from "./chronicle";
import { colorOf } from "./colors";
import { byId, make, setText, table } from "./dom";
import * as format from "./format";
import type { Store } from "./store";

const LISTED = 200;
const FIELDS = 8;

export function showNumbers(store: Store): void {
  const moment = store.current;
  setText(byId("status"), statusOf(store));
  byId("status").dataset.status = store.following ? store.status : "paused";
  document.body.classList.toggle("single", store.single);
  document.body.classList.toggle("ended", store.status === "ended");
  setText(byId("rows"), format.count(store.rows));
  setText(byId("rate"), store.status === "live" ? format.rate(store.rowsPerSecond) : "–");
  setText(byId("batches"), format.count(store.batches));
  setText(byId("clusters"), moment ? String(moment.ids.length) : "–");
  setText(byId("time"), moment ? format.time(moment.time) : "–");
  const slider = byId<HTMLInputElement>("scrub");
  slider.max = String(Math.max(store.moments.length - 1, 0));
  if (slider.value !== String(store.index)) slider.value = String(store.index);
  slider.setAttribute("aria-valuetext", moment ? `time ${format.time(moment.time)}` : "no batch yet");
  setText(byId("pause"), store.following ? "Pause" : store.status === "ended" ? "To the end" : "Go live");
  byId("pause").hidden = store.following && store.status === "ended"; // nothing goes on there
  setText(byId("replay"), store.replaying ? "Stop" : "Replay");
}

function statusOf(store: Store): string {
  if (store.replaying) return "replay";
  if (store.status === "ended") return "finished";
  if (store.status === "waiting") return store.moments.length ? "reconnecting" : "waiting for rows";
  return store.following ? "live" : "paused";
}

export function showClusters(store: Store): void {
  const list = byId("cluster-list");
  const moment = store.current;
  const wanted = byId<HTMLInputElement>("search").value.trim();
  const order = moment ? store.order() : [];
  const fits = (i: number) => String(moment!.ids[i]).startsWith(wanted) || moment!.says?.[i]?.toLowerCase().includes(wanted.toLowerCase());
  const shown = order.filter((i) => !wanted || fits(i));
  const rows = shown.slice(0, LISTED);
  const most = order.length ? moment!.weights[order[0]!]! : 1;
  while (list.children.length > rows.length) list.lastElementChild!.remove();
  rows.forEach((i, at) => {
    const item = (list.children[at] as HTMLElement | undefined) ?? list.appendChild(newItem(store));
    const id = moment!.ids[i]!;
    const button = item.firstElementChild as HTMLButtonElement;
    button.dataset.id = String(id);
    button.setAttribute("aria-pressed", String(store.selected === id));
    const [swatch, name, bar, share, says] = button.children as unknown as HTMLElement[];
    swatch!.style.background = colorOf(id);
    setText(name!, String(id));
    const part = bar!.firstElementChild as HTMLElement;
    part.style.width = `${(100 * moment!.weights[i]!) / (most || 1)}%`;
    part.style.background = colorOf(id);
    setText(share!, format.share(moment!.weights[i]!));
    setText(says!, moment!.says?.[i] ?? "");
  });
  setText(byId("cluster-note"), noteOf(shown.length, rows.length, wanted));
}

function newItem(store: Store): HTMLElement {
  const item = make("li");
  const button = make("button", "", { type: "button" });
  const bar = make("span", "", { class: "bar" });
  bar.append(make("i"));
  button.append(make("span", "", { class: "swatch" }), make("span", "", { class: "name" }), bar, make("span", "", { class: "share" }), make("span", "", { class: "says" }));
  button.addEventListener("click", () => store.select(Number(button.dataset.id)));
  button.addEventListener("pointerenter", () => store.hover(Number(button.dataset.id)));
  button.addEventListener("pointerleave", () => store.hover(null));
  item.append(button);
  return item;
}

function noteOf(found: number, listed: number, wanted: string): string {
  if (!found) return wanted ? `No cluster with “${wanted}” at this moment.` : "";
  return found > listed ? `${found - listed} smaller ones are not listed.` : "";
}

// Rows that are kept whole, with the cluster of each and how unusual it was, if that is known.
export function rowTable(store: Store, rows: KeptRow[], withCluster: boolean): HTMLTableElement {
  const names = store.fields.slice(0, FIELDS);
  const scored = rows.some((row) => row.score !== undefined);
  const head = [...(withCluster ? ["cluster"] : []), ...(scored ? ["score"] : []), ...names];
  const body = rows.map((row) => [
    ...(withCluster ? [named(row.label)] : []),
    ...(scored ? [format.number(row.score)] : []),
    ...names.map((_, j) => format.value(row.values[j])),
  ]);
  return table(head, body);
}

export function named(id: number, before = ""): HTMLElement {
  const out = make("span");
  const swatch = make("span", "", { class: "swatch" });
  swatch.style.background = colorOf(id);
  out.append(swatch, id < 0 ? "none" : `${before}${id}`);
  return out;
}

export function showUnusual(store: Store): void {
  const rows = store.current?.unusual ?? [];
  const box = byId("unusual-rows");
  byId("unusual").hidden = rows.length === 0;
  const mark = `${store.current?.batch ?? ""}`;
  if (!rows.length || box.dataset.mark === mark) return;
  box.dataset.mark = mark;
  const found = rowTable(store, rows, true);
  found.querySelectorAll("tbody tr").forEach((row, i) => {
    row.addEventListener("click", () => store.select(rows[i]!.label >= 0 ? rows[i]!.label : null));
  });
  box.replaceChildren(found);
}
