// A cluster or a moment in detail.

import type { Moment } from "./chronicle";
import { colorOf } from "./colors";
import { byId, make, table } from "./dom";
import { eventList } from "./events";
import * as format from "./format";
import { rowTable } from "./panels";
import { ranges, shareOverTime, wordStacks } from "./small";
import type { Store } from "./store";

const ROWS = 6;
const LOOKED_BACK = 60; // moments in which recent rows are looked for

export function showDetail(store: Store): void {
  const panel = byId("detail");
  const moment = store.current;
  const open = store.selected !== null || store.momentOpen;
  panel.hidden = !open || !moment;
  if (!open || !moment) {
    panel.dataset.mark = "";
    return;
  }
  const mark = `${store.selected}/${moment.batch}/${store.events.length}/${store.drifts.length}/${document.documentElement.dataset.theme ?? ""}`;
  if (panel.dataset.mark === mark) return;
  const other = panel.dataset.of !== String(store.selected);
  panel.dataset.mark = mark;
  panel.dataset.of = String(store.selected);
  const scrolled = panel.scrollTop;
  const parts = store.selected === null ? momentParts(store, moment) : clusterParts(store, moment, store.selected);
  panel.replaceChildren(...parts);
  panel.scrollTop = other ? 0 : scrolled;
}

function top(store: Store, title: string, id: number | null): HTMLElement {
  const out = make("div", "", { class: "top" });
  const head = make("h2");
  if (id !== null) {
    const swatch = make("span", "", { class: "swatch" });
    swatch.style.background = colorOf(id);
    head.append(swatch);
  }
  head.append(title);
  const close = make("button", "×", { type: "button", class: "close", "aria-label": "Close the detail" });
  close.addEventListener("click", () => store.select(null));
  out.append(head, close);
  return out;
}

// -- a cluster ------------------------------------------------------------------------------------

function clusterParts(store: Store, moment: Moment, id: number): Node[] {
  const i = moment.ids.indexOf(id);
  const parts: Node[] = [top(store, `Cluster ${id}`, id)];
  if (i < 0) {
    parts.push(make("p", "Not alive at this moment.", { class: "note" }), goThere(store, id));
  } else {
    parts.push(facts(moment, i));
    const said = moment.says?.[i];
    if (said) parts.push(make("h3", "What makes it different"), make("p", said, { class: "says" }));
  }
  if (!store.single) parts.push(make("h3", "Share over time"), shareOverTime(store, id));
  if (i >= 0 && moment.means?.[i]) {
    parts.push(make("h3", "Columns, against all rows"), ranges(store, moment, i));
  }
  const words = i < 0 ? {} : (moment.words?.[i] ?? {});
  if (Object.keys(words).length) parts.push(make("h3", "Categories"), wordStacks(words, colorOf(id)));
  const history = store.happenings.filter((e) => e.cluster === id || e.other === id).slice(-30).reverse();
  if (history.length && !store.single) parts.push(make("h3", "History"), eventList(store, history));
  for (const [title, kind] of [["Recent rows", "examples"], ["Unusual rows", "unusual"]] as const) {
    const rows = recent(store, id, kind);
    if (!rows.length) continue;
    const box = make("div", "", { class: "scroll" });
    box.append(rowTable(store, rows, false));
    parts.push(make("h3", title), box);
  }
  return parts;
}

function facts(moment: Moment, i: number): Node {
  const rows: (string | Node)[][] = [
    ["Share", format.share(moment.weights[i]!)],
    ["Latest rows", format.count(moment.counts[i]!)],
  ];
  if (moment.batch > 0) rows.push(["Born", format.time(moment.born[i]!)]);
  const speed = moment.speeds?.[i];
  if (speed !== null && speed !== undefined) rows.push(["Moves", format.speed(speed)]);
  if (moment.groups) rows.push(["Group", String(moment.groups[i])]);
  const out = table([], rows);
  out.className = "facts";
  return out;
}

function recent(store: Store, id: number, kind: "examples" | "unusual") {
  const found = [];
  const first = Math.max(0, store.index - LOOKED_BACK);
  for (let at = store.index; at >= first && found.length < ROWS; at -= 1) {
    for (const row of store.moments[at]?.[kind] ?? []) if (row.label === id) found.push(row);
  }
  return found.slice(0, ROWS);
}

function goThere(store: Store, id: number): Node {
  const last = store.moments.findLastIndex((m) => m.ids.includes(id));
  const button = make("button", "Go to its last moment", { type: "button" });
  button.hidden = last < 0;
  button.addEventListener("click", () => store.goTo(last));
  return button;
}

// -- a moment -------------------------------------------------------------------------------------

function momentParts(store: Store, moment: Moment): Node[] {
  const rows: (string | Node)[][] = [
    ["Batch", format.count(moment.batch + 1)],
    ["Rows", format.count(moment.n_points)],
    ["Clusters", String(moment.ids.length)],
  ];
  if (moment.score) {
    rows.push(["Median score", format.number(moment.score[4])], ["Lowest score", format.number(moment.score[1])]);
  }
  const list = table([], rows);
  list.className = "facts";
  const parts: Node[] = [top(store, format.time(moment.time), null), list];
  const before = store.moments[store.index - 1];
  const events = store.happenings.filter((e) => e.time <= moment.time && (!before || e.time > before.time));
  parts.push(make("h3", "What happened"));
  parts.push(events.length ? eventList(store, events.slice(-30)) : make("p", "Nothing was born, and nothing ended.", { class: "note" }));
  for (const [title, kind] of [["Unusual rows", "unusual"], ["Some of its rows", "examples"]] as const) {
    const kept = moment[kind] ?? [];
    if (!kept.length) continue;
    const box = make("div", "", { class: "scroll" });
    box.append(rowTable(store, kept, true));
    parts.push(make("h3", title), box);
  }
  return parts;
}

