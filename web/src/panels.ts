// The panels beside the map: clusters, one of them in detail, events.

import type { ClusterEvent, Moment } from "./chronicle";
import { colorOf } from "./colors";
import { byId, make, setText, table } from "./dom";
import * as format from "./format";
import type { Store } from "./store";

const LISTED = 200;
const COLUMNS = 40;

export function showNumbers(store: Store): void {
  const moment = store.current;
  setText(byId("status"), statusOf(store));
  byId("status").dataset.status = store.following ? store.status : "paused";
  setText(byId("rows"), format.count(store.rows));
  setText(byId("rate"), store.status === "live" ? format.rate(store.rowsPerSecond) : "–");
  setText(byId("batches"), format.count(store.batches));
  setText(byId("clusters"), moment ? String(moment.ids.length) : "–");
  setText(byId("time"), moment ? format.time(moment.time) : "–");
  const slider = byId<HTMLInputElement>("scrub");
  slider.max = String(Math.max(store.moments.length - 1, 0));
  if (slider.value !== String(store.index)) slider.value = String(store.index);
  slider.setAttribute("aria-valuetext", moment ? `time ${format.time(moment.time)}` : "no batch yet");
  const button = byId<HTMLButtonElement>("pause");
  setText(button, store.following ? "Pause" : store.status === "ended" ? "Go to the end" : "Go live");
}

function statusOf(store: Store): string {
  if (store.status === "ended") return "finished";
  if (store.status === "waiting") return store.moments.length ? "reconnecting" : "waiting for rows";
  return store.following ? "live" : "paused";
}

export function showClusters(store: Store): void {
  const list = byId("cluster-list");
  const moment = store.current;
  const wanted = byId<HTMLInputElement>("search").value.trim();
  const order = moment
    ? moment.ids.map((_, i) => i).sort((p, q) => moment.weights[q]! - moment.weights[p]!)
    : [];
  const shown = order.filter((i) => !wanted || String(moment!.ids[i]).startsWith(wanted));
  const rows = shown.slice(0, LISTED);
  while (list.children.length > rows.length) list.lastElementChild!.remove();
  rows.forEach((i, at) => {
    let item = list.children[at] as HTMLElement | undefined;
    if (!item) {
      item = make("li");
      const button = make("button", "", { type: "button" });
      button.append(make("span", "", { class: "swatch" }), make("span", "", { class: "name" }), make("span", "", { class: "share" }));
      button.addEventListener("click", () => store.select(Number(button.dataset.id)));
      item.append(button);
      list.append(item);
    }
    const id = moment!.ids[i]!;
    const button = item.firstElementChild as HTMLButtonElement;
    button.dataset.id = String(id);
    button.setAttribute("aria-pressed", String(store.selected === id));
    const [swatch, name, share] = button.children as unknown as HTMLElement[];
    swatch!.style.background = colorOf(id);
    setText(name!, String(id));
    setText(share!, format.share(moment!.weights[i]!));
  });
  setText(byId("cluster-note"), noteOf(shown.length, rows.length, wanted));
}

function noteOf(found: number, listed: number, wanted: string): string {
  if (!found) return wanted ? `No cluster ${wanted} at this moment.` : "";
  return found > listed ? `${found - listed} smaller ones are not listed.` : "";
}

export function showDetail(store: Store): void {
  const panel = byId("detail");
  const moment = store.current;
  const id = store.selected;
  panel.hidden = id === null;
  if (id === null || !moment) return;
  const i = moment.ids.indexOf(id);
  const parts: Node[] = [heading(id)];
  if (i < 0) {
    parts.push(make("p", "Not alive at this moment."));
  } else {
    parts.push(facts(moment, i));
    const columns = columnTable(store, moment, i);
    if (columns) parts.push(make("h3", "Columns"), columns);
    const words = wordTable(moment, i);
    if (words) parts.push(make("h3", "Categories"), words);
  }
  const history = store.events.filter((e) => e.cluster === id || e.other === id).slice(-30).reverse();
  if (history.length) {
    parts.push(make("h3", "History"), eventList(store, history));
  }
  const rows = (moment.unusual ?? []).filter((row) => row.label === id);
  if (rows.length) parts.push(make("h3", "Unusual rows"), unusualTable(store, rows));
  panel.replaceChildren(...parts);
}

function heading(id: number): Node {
  const head = make("h2");
  const swatch = make("span", "", { class: "swatch" });
  swatch.style.background = colorOf(id);
  head.append(swatch, `Cluster ${id}`);
  return head;
}

function facts(moment: Moment, i: number): Node {
  const rows: (string | Node)[][] = [
    ["Share", format.share(moment.weights[i]!)],
    ["Rows remembered", format.count(moment.counts[i]!)],
    ["Born", format.time(moment.born[i]!)],
  ];
  const speed = moment.speeds?.[i];
  if (speed !== null && speed !== undefined) rows.push(["Speed", `${format.number(speed)} sd per unit of time`]);
  if (moment.groups) rows.push(["Group", String(moment.groups[i])]);
  return table([], rows);
}

// Columns, those first in which the cluster differs most from the whole.
function columnTable(store: Store, moment: Moment, i: number): Node | null {
  const means = moment.means?.[i];
  if (!means) return null;
  const whole = overall(moment);
  const far = means.map((m, j) => (m === null ? 0 : Math.abs(m - whole.mean[j]!) / (whole.sd[j]! || 1)));
  const order = means.map((_, j) => j).sort((p, q) => far[q]! - far[p]!).slice(0, COLUMNS);
  const rows = order.map((j) => {
    const sd = moment.deviations?.[i]?.[j];
    const value = format.number(means[j]) + (sd === null || sd === undefined ? "" : ` ± ${format.number(sd)}`);
    return [store.columns[j] ?? `column ${j}`, value, compared(means[j]!, whole.mean[j]!, far[j]!)];
  });
  return table(["column", "mean", "against all"], rows);
}

function wordTable(moment: Moment, i: number): Node | null {
  const columns = Object.entries(moment.words?.[i] ?? {}).slice(0, COLUMNS);
  if (!columns.length) return null;
  const rows = columns.map(([name, shares]) => [
    name,
    Object.entries(shares).map(([word, part]) => `${word} ${format.share(part)}`).join(", "),
  ]);
  return table(["column", "mostly"], rows);
}

function compared(mean: number, all: number, far: number): string {
  if (far < 0.5) return "alike";
  return `${mean > all ? "higher" : "lower"} (${format.number(all)})`;
}

function overall(moment: Moment): { mean: number[]; sd: number[] } {
  const d = moment.means![0]?.length ?? 0;
  const mean = new Array<number>(d).fill(0);
  const square = new Array<number>(d).fill(0);
  moment.means!.forEach((row, i) =>
    row.forEach((value, j) => {
      const w = moment.weights[i]!;
      mean[j] = mean[j]! + w * (value ?? 0);
      square[j] = square[j]! + w * (value ?? 0) ** 2;
    }),
  );
  return { mean, sd: mean.map((m, j) => Math.sqrt(Math.max(square[j]! - m * m, 0))) };
}

function unusualTable(store: Store, rows: NonNullable<Moment["unusual"]>): Node {
  const names = store.columns.slice(0, 8);
  return table(
    ["score", ...names],
    rows.map((row) => [
      format.number(row.score),
      ...names.map((_, j) => {
        const value = row.values[j];
        return typeof value === "number" ? format.number(value) : String(value ?? "–");
      }),
    ]),
  );
}

export function showUnusual(store: Store): void {
  const rows = store.current?.unusual ?? [];
  byId("unusual").hidden = rows.length === 0;
  if (!rows.length) return;
  byId("unusual-rows").replaceChildren(unusualTable(store, rows));
}

export function showEvents(store: Store): void {
  const box = byId("event-list");
  const recent = store.events.slice(-100).reverse();
  const mark = `${store.events.length}/${store.eventsLeftOut}/${recent[0]?.time ?? ""}`;
  if (box.dataset.mark === mark) return;
  box.dataset.mark = mark;
  box.replaceChildren(recent.length ? eventList(store, recent) : make("p", "Nothing has happened yet."));
}

function eventList(store: Store, events: ClusterEvent[]): HTMLElement {
  const list = make("ol", "", { class: "events" });
  for (const event of events) {
    const item = make("li");
    const button = make("button", "", { type: "button", class: `event ${/^[a-z-]+$/.test(event.kind) ? event.kind : ""}` });
    button.append(make("span", event.kind, { class: "kind" }), make("span", words(event)), make("time", format.time(event.time)));
    button.addEventListener("click", () => {
      store.goToTime(event.time);
      store.select(event.cluster);
    });
    item.append(button);
    list.append(item);
  }
  return list;
}

function words(event: ClusterEvent): string {
  const { kind, cluster, other } = event;
  if (kind === "split") return `${other} from ${cluster}`;
  if (kind === "merge") return `${other} into ${cluster}`;
  return other === null || other === undefined ? String(cluster) : `${cluster} (${other})`;
}
