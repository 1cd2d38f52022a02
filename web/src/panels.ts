// Numbers, the list of clusters, and the rows that were hardly expected.

import type { KeptRow, Moment } from "./chronicle";
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
  const groups = moment ? store.wholes().length : 0;
  byId("groups").parentElement!.hidden = groups === 0;
  setText(byId("groups"), String(groups));
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

// A line of the list: a cluster, or a group of several.
interface Line {
  id: number;
  share: number;
  says: string;
  places: number[]; // of the clusters
  group: boolean;
  inside: boolean; // a cluster below its group
}

export function showClusters(store: Store): void {
  const list = byId("cluster-list");
  const moment = store.current;
  const wanted = byId<HTMLInputElement>("search").value.trim();
  const lines = moment ? linesOf(store, moment, wanted.toLowerCase()) : [];
  const rows = lines.slice(0, LISTED);
  const most = Math.max(0, ...lines.map((line) => line.share));
  while (list.children.length > rows.length) list.lastElementChild!.remove();
  rows.forEach((line, at) => {
    const item = (list.children[at] as HTMLElement | undefined) ?? list.appendChild(newItem(store));
    item.className = line.group ? "whole" : line.inside ? "inside" : "";
    const button = item.firstElementChild as HTMLButtonElement;
    button.dataset[line.group ? "group" : "id"] = String(line.id);
    delete button.dataset[line.group ? "id" : "group"];
    const open = line.group && rows[at + 1]?.inside;
    button.setAttribute(line.group ? "aria-expanded" : "aria-pressed", String(line.group ? open : store.selected === line.id));
    button.removeAttribute(line.group ? "aria-pressed" : "aria-expanded");
    const [swatch, name, bar, share, says] = button.children as unknown as HTMLElement[];
    swatch!.style.background = line.group ? "none" : colorOf(line.id);
    setText(swatch!, line.group ? (open ? "▾" : "▸") : "");
    setText(name!, line.group ? `Group ${line.id}` : String(line.id));
    const part = bar!.firstElementChild as HTMLElement;
    part.style.width = `${(100 * line.share) / (most || 1)}%`;
    part.style.background = stripes(moment!, line);
    setText(share!, format.share(line.share));
    setText(says!, line.group ? `${line.places.length} clusters. ${line.says}` : line.says);
  });
  setText(byId("cluster-note"), noteOf(lines.length, rows.length, wanted));
}

// The groups, and below those that are unfolded their clusters; of a search the clusters it finds.
function linesOf(store: Store, moment: Moment, wanted: string): Line[] {
  const line = (i: number, inside: boolean) => ({
    id: moment.ids[i]!, share: moment.weights[i]!, says: moment.says?.[i] ?? "", places: [i], group: false, inside,
  });
  const wholes = store.wholes();
  if (wanted || !wholes.length) {
    const lines = store.order().map((i) => line(i, false));
    return lines.filter(({ id, says }) => !wanted || String(id).startsWith(wanted) || says.toLowerCase().includes(wanted));
  }
  return wholes.flatMap((whole) => {
    if (whole.places.length === 1) return [line(whole.places[0]!, false)];
    const own = store.isOpen(whole) ? whole.places.map((i) => line(i, true)) : [];
    return [{ ...whole, group: true, inside: false }, ...own];
  });
}

// The colours of a line's clusters, each as wide as its share.
function stripes(moment: Moment, { places, share }: Line): string {
  if (places.length === 1) return colorOf(moment.ids[places[0]!]!);
  let sum = 0;
  const stops = places.map((i) => {
    const from = sum / (share || 1);
    sum += moment.weights[i]!;
    return `${colorOf(moment.ids[i]!)} ${100 * from}% ${(100 * sum) / (share || 1)}%`;
  });
  return `linear-gradient(to right, ${stops.join(", ")})`;
}

function newItem(store: Store): HTMLElement {
  const item = make("li");
  const button = make("button", "", { type: "button" });
  const bar = make("span", "", { class: "bar" });
  bar.append(make("i"));
  button.append(make("span", "", { class: "swatch" }), make("span", "", { class: "name" }), bar, make("span", "", { class: "share" }), make("span", "", { class: "says" }));
  button.addEventListener("click", () => {
    if (button.dataset.group !== undefined) store.fold(Number(button.dataset.group));
    else store.select(Number(button.dataset.id));
  });
  button.addEventListener("pointerenter", () => store.hover(button.dataset.id === undefined ? null : Number(button.dataset.id)));
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
