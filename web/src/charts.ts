// Charts over time: the river of shares, the number of clusters, unusual rows.

import uPlot from "uplot";

import { colorOf, faded, styleOf } from "./colors";
import { make } from "./dom";
import * as format from "./format";
import { named } from "./panels";
import type { Store } from "./store";

const ARMS = 12; // of the river, the largest clusters
const POINTS = 1000; // of a chart: more cannot be told apart

interface Lines {
  data: number[][];
  series: uPlot.Series[];
  bands?: uPlot.Band[];
  tell: (at: number, y: number) => (string | Node)[]; // what is under the pointer
  pick?: (at: number, y: number) => number | null; // the cluster there, if it is one
}

export class Chart {
  private plot: uPlot | null = null;
  private now: Lines | null = null;
  private shape = "";
  private mark = ""; // of the data that are drawn
  private due = 0;
  private line = make("div", "", { class: "now" }); // the moment that is looked at
  private tip = make("div", "", { class: "tip" });

  constructor(
    private element: HTMLElement,
    private store: Store,
    private lines: (store: Store) => Lines | null,
    private range: [number | null, number | null],
  ) {
    this.tip.hidden = true;
    element.append(this.tip);
    new ResizeObserver(() => this.resize()).observe(element);
  }

  // Charts are drawn when there is something new, and at most four times a second: numbers that
  // change faster cannot be read. Those of many clusters take longer, and have longer pauses.
  update(): void {
    this.showMoment();
    const { moments } = this.store;
    if (this.due || this.mark === markOf(this.store)) return;
    const large = moments.length * (moments.at(-1)?.ids.length ?? 0) > 20_000;
    this.due = window.setTimeout(() => {
      this.due = 0;
      this.draw();
    }, large ? 1000 : 250);
    if (!this.plot) this.draw();
  }

  rebuild(): void {
    this.shape = "";
    this.draw();
  }

  draw(): void {
    this.mark = markOf(this.store);
    const lines = (this.now = this.lines(this.store));
    this.element.closest("section")!.hidden = lines === null || lines.data[0]!.length < 2;
    if (!lines?.data[0]?.length || this.element.clientWidth === 0) return; // drawn as soon as there is something
    const shape = lines.series.map((s) => `${s.label}${s.stroke}${s.fill}`).join();
    if (this.plot && shape === this.shape) {
      this.plot.setData(lines.data as uPlot.AlignedData);
      this.showMoment();
      return;
    }
    this.plot?.destroy();
    this.shape = shape;
    this.plot = new uPlot(this.options(lines), lines.data as uPlot.AlignedData, this.element);
    this.plot.over.addEventListener("click", (event) => this.clicked(event));
    this.plot.over.addEventListener("pointerleave", () => (this.tip.hidden = true));
    this.plot.over.append(this.line);
    this.showMoment();
  }

  private clicked(event: MouseEvent): void {
    const plot = this.plot!;
    const id = this.now?.pick?.(plot.posToIdx(event.offsetX), plot.posToVal(event.offsetY, "y")) ?? null;
    this.store.goToTime(plot.posToVal(event.offsetX, "x"));
    if (id === null) this.store.openMoment();
    else this.store.select(id);
  }

  private point(plot: uPlot): void {
    const { idx, left, top } = plot.cursor;
    const when = idx === null || idx === undefined ? undefined : this.now?.data[0]?.[idx];
    this.tip.hidden = when === undefined || !plot.over.matches(":hover"); // another chart's pointer
    if (this.tip.hidden) return;
    const told = this.now!.tell(idx!, plot.posToVal(top!, "y"));
    const lines = told.map((one) => {
      const line = make("span");
      line.append(one);
      return line;
    });
    this.tip.replaceChildren(make("b", format.time(when!)), ...lines);
    const x = left! + plot.bbox.left / (window.devicePixelRatio || 1);
    const over = x + 14 + this.tip.offsetWidth > this.element.clientWidth;
    this.tip.style.left = `${over ? x - 14 - this.tip.offsetWidth : x + 14}px`;
  }

  private resize(): void {
    if (!this.plot) return this.draw();
    const { clientWidth: width, clientHeight: height } = this.element;
    if (width) this.plot.setSize({ width, height });
    this.showMoment();
  }

  private options(lines: Lines): uPlot.Options {
    const soft = styleOf("--soft");
    const grid = { stroke: styleOf("--grid"), width: 1 };
    const axis = { stroke: soft, grid, ticks: { ...grid, size: 4 }, font: "12px Inter, system-ui, sans-serif" };
    const [low, high] = this.range;
    return {
      width: this.element.clientWidth,
      height: this.element.clientHeight,
      legend: { show: false },
      tzDate: (seconds) => uPlot.tzDate(new Date(1000 * seconds), "UTC"),
      cursor: { y: false, drag: { x: false, y: false }, points: { size: 6, show: !lines.pick as false }, sync: { key: "scstream", setSeries: false } },
      scales: {
        x: { time: format.datesShown() },
        y: { range: (_u, min, max) => [low ?? min - 0.06 * (max - min || 1), high ?? max + 0.08 * (max - (low ?? min) || 1)] },
      },
      axes: [
        { ...axis, space: 88, size: 30, values: (_u, marks) => format.times(marks) },
        { ...axis, size: 46, incrs: low === 0 && high === null ? [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000] : undefined, grid: { ...grid, show: high !== 1 }, values: (_u, marks) => marks.map((v) => (high === 1 ? `${Math.round(100 * v)} %` : format.number(v))) },
      ],
      series: [{}, ...lines.series],
      bands: lines.bands,
      hooks: { setCursor: [(plot) => this.point(plot)] },
    };
  }

  private showMoment(): void {
    const moment = this.store.current;
    this.line.hidden = !moment || !this.plot || this.store.following;
    if (this.line.hidden) return;
    this.line.style.transform = `translateX(${Math.round(this.plot!.valToPos(moment!.time, "x"))}px)`;
  }
}

function markOf(store: Store): string {
  return `${store.moments.length}/${store.moments.at(-1)?.batch}`;
}

function thinned(store: Store) {
  const every = Math.ceil(store.moments.length / POINTS);
  const last = store.moments.length - 1;
  return store.moments.filter((_, i) => i % every === 0 || i === last);
}

export function clusterCount(store: Store): Lines {
  const moments = thinned(store);
  const accent = styleOf("--accent");
  return {
    data: [moments.map((m) => m.time), moments.map((m) => m.ids.length)],
    series: [
      { label: "clusters", stroke: accent, fill: faded(accent, 0.12), width: 2, paths: uPlot.paths.stepped!({ align: 1 }), points: { show: false } },
    ],
    tell: (at) => [`${moments[at]!.ids.length} clusters`, `${format.count(moments[at]!.n_points)} rows`],
  };
}

export function river(store: Store): Lines {
  const moments = thinned(store);
  const mass = new Map<number, number>();
  for (const m of moments) m.ids.forEach((id, i) => mass.set(id, (mass.get(id) ?? 0) + m.weights[i]!));
  const arms = [...mass].sort((p, q) => q[1] - p[1]).slice(0, ARMS).map(([id]) => id).sort((p, q) => p - q);
  const weights = moments.map((m) => new Map(m.ids.map((id, i) => [id, m.weights[i]!])));
  const sums = moments.map(() => 0);
  const edges: number[][] = []; // the upper edge of each arm
  for (const id of arms) {
    weights.forEach((w, i) => (sums[i] = sums[i]! + (w.get(id) ?? 0)));
    edges.push([...sums]);
  }
  const series = arms.map((id) => arm(String(id), colorOf(id)));
  if (mass.size > arms.length) {
    edges.push(weights.map((w) => [...w.values()].reduce((a, b) => a + b, 0)));
    series.push(arm("others", styleOf("--others")));
  }
  return {
    // Filled from the top down, so that each arm covers what is below it up to its own line.
    data: [moments.map((m) => m.time), ...edges.reverse()],
    series: series.reverse(),
    pick: (at, y) => arms[edges.length - 1 - lowest(edges, at, y)] ?? null,
    tell: (at, y) => {
      const id = arms[edges.length - 1 - lowest(edges, at, y)];
      return id === undefined ? ["other clusters"] : [named(id), `${format.share(weights[at]!.get(id) ?? 0)} of the rows`];
    },
  };
}

// The arm under a point: of edges from the top down the last that is above it.
function lowest(edges: number[][], at: number, y: number): number {
  for (let j = edges.length - 1; j >= 0; j -= 1) if (y <= edges[j]![at]!) return j;
  return 0;
}

function arm(label: string, color: string): uPlot.Series {
  return {
    label,
    stroke: styleOf("--ground"),
    width: 0.75,
    fill: faded(color, 0.85),
    points: { show: false },
    paths: uPlot.paths.spline!(),
  };
}

export function unusual(store: Store): Lines | null {
  const moments = thinned(store).filter((m) => m.score);
  if (!moments.length) return null;
  const quantile = (j: number) => moments.map((m) => m.score![1 + j]!);
  const accent = styleOf("--accent");
  const plain = { points: { show: false } };
  return {
    data: [moments.map((m) => m.time), quantile(0), quantile(5), quantile(3), quantile(1)],
    series: [
      { label: "lowest", stroke: styleOf("--alarm"), width: 1.5, ...plain },
      { label: "95 %", stroke: faded(accent, 0.6), width: 1, ...plain },
      { label: "half", stroke: accent, width: 2, ...plain },
      { label: "5 %", stroke: faded(accent, 0.6), width: 1, ...plain },
    ],
    bands: [{ series: [2, 4], fill: faded(accent, 0.15) }],
    tell: (at) => {
      const score = moments[at]!.score!;
      return [`lowest ${format.number(score[1])}`, `median ${format.number(score[4])}`];
    },
  };
}
