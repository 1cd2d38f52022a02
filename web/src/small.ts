// Small pictures in the detail: a cluster's share over time, its columns against all rows.

import type { Moment } from "./chronicle";
import { colorOf, faded } from "./colors";
import { make } from "./dom";
import * as format from "./format";
import { overall } from "./overall";
import { bend, unbend } from "./plane";
import type { Store } from "./store";

const SVG = "http://www.w3.org/2000/svg";
const COLUMNS = 40;
const POINTS = 200;

function draw(name: string, attributes: Record<string, string | number>): SVGElement {
  const out = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) out.setAttribute(key, String(value));
  return out;
}

function picture(width: number, height: number, label: string): SVGElement {
  return draw("svg", { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", role: "img", "aria-label": label });
}

export function shareOverTime(store: Store, id: number): SVGElement {
  const every = Math.ceil(store.moments.length / POINTS) || 1;
  const moments = store.moments.filter((_, i) => i % every === 0 || i === store.moments.length - 1);
  const shares = moments.map((m) => m.weights[m.ids.indexOf(id)] ?? 0);
  const most = Math.max(...shares, 1e-9);
  const [w, h] = [300, 50];
  const out = picture(w, h, `Share of cluster ${id} over time, at most ${format.share(most)}`);
  out.setAttribute("class", "spark");
  const x = (i: number) => (w * i) / Math.max(shares.length - 1, 1);
  const line = shares.map((s, i) => `${x(i).toFixed(1)},${(h - 2 - (h - 6) * (s / most)).toFixed(1)}`);
  const color = colorOf(id);
  out.append(
    draw("polygon", { points: `0,${h} ${line.join(" ")} ${w},${h}`, fill: faded(color, 0.22) }),
    draw("polyline", { points: line.join(" "), fill: "none", stroke: color, "stroke-width": 2, "vector-effect": "non-scaling-stroke" }),
  );
  const now = (w * store.index) / Math.max(store.moments.length - 1, 1);
  out.append(draw("line", { x1: now, x2: now, y1: 0, y2: h, stroke: "currentColor", "stroke-opacity": 0.5, "vector-effect": "non-scaling-stroke" }));
  return out;
}

// Of each column where a cluster is and most of its values lie, against all rows; the farthest first.
export function ranges(store: Store, moment: Moment, i: number): HTMLElement {
  const out = make("div", "", { class: "ranges" });
  const all = overall(moment, store.plane)!;
  const means = moment.means![i]!;
  const drawn = (x: number | null, j: number) => bend(x ?? 0, store.plane.unit(j));
  const far = means.map((m, j) => (m === null ? 0 : Math.abs(drawn(m, j) - all.mean[j]!) / (all.sd[j]! || 1)));
  const order = means.map((_, j) => j).sort((p, q) => far[q]! - far[p]!).slice(0, COLUMNS);
  for (const j of order) {
    const sd = moment.deviations?.[i]?.[j] ?? 0;
    const low = moment.lows?.[i]?.[j] ?? means[j]! - sd;
    const high = moment.highs?.[i]?.[j] ?? means[j]! + sd;
    const name = store.columns[j] ?? `column ${j}`;
    const ends = high > low ? ` (${format.number(low, 3)} to ${format.number(high, 3)})` : "";
    const value = format.number(means[j], 3) + ends;
    const label = `${name}: ${value}; all rows ${format.number(unbend(all.mean[j]!, store.plane.unit(j)), 3)}`;
    const places = [low, means[j]!, high].map((x) => drawn(x, j)) as [number, number, number];
    const bar = range(places, all.mean[j]!, all.sd[j]!, colorOf(moment.ids[i]!), label);
    out.append(make("span", name, { title: name }), make("span", value, { class: "value" }), bar);
  }
  return out;
}

function range([low, mid, high]: [number, number, number], all: number, spread: number, color: string, label: string): SVGElement {
  const from = Math.min(all - 2 * spread, low);
  const to = Math.max(all + 2 * spread, high);
  const x = (v: number) => 4 + (192 * (v - from)) / (to - from || 1);
  const out = picture(200, 20, label);
  const wide = (a: number, b: number, y: number, height: number, fill: string, opacity: number) =>
    draw("rect", { x: x(a), y, width: Math.max(x(b) - x(a), 2), height, rx: height / 2, fill, "fill-opacity": opacity });
  out.append(
    wide(all - 2 * spread, all + 2 * spread, 8, 4, "currentColor", 0.16),
    wide(low, high, 6, 8, color, 0.55),
    draw("line", { x1: x(all), x2: x(all), y1: 2, y2: 18, stroke: "currentColor", "stroke-opacity": 0.45, "stroke-width": 1.5, "vector-effect": "non-scaling-stroke" }),
    draw("line", { x1: x(mid), x2: x(mid), y1: 3, y2: 17, stroke: color, "stroke-width": 4, "vector-effect": "non-scaling-stroke" }),
  );
  return out;
}

export function wordStacks(columns: Record<string, Record<string, number>>, color: string): HTMLElement {
  const out = make("div", "", { class: "words" });
  for (const [name, shares] of Object.entries(columns).slice(0, COLUMNS)) {
    const box = make("div");
    const stack = make("div", "", { class: "stack" });
    Object.entries(shares).forEach(([word, part], at) => {
      const piece = make("span", `${word} ${format.share(part)}`, { title: `${word} ${format.share(part)}` });
      piece.style.flex = `${Math.max(part, 0.02)} 1 0`;
      piece.style.background = faded(color, Math.max(0.4 - 0.1 * at, 0.1));
      stack.append(piece);
    });
    box.append(make("p", name), stack);
    out.append(box);
  }
  return out;
}
