// Charts over time: the river of shares, the number of clusters, unusual rows.

import uPlot from "uplot";

import { colorOf, faded, styleOf } from "./colors";
import * as format from "./format";
import type { Store } from "./store";

const ARMS = 12; // of the river, the largest clusters
const POINTS = 1000; // of a chart: more cannot be told apart

interface Lines {
  data: number[][];
  series: uPlot.Series[];
  bands?: uPlot.Band[];
}

export class Chart {
  private plot: uPlot | null = null;
  private shape = "";
  private due = 0;

  constructor(
    private element: HTMLElement,
    private store: Store,
    private lines: (store: Store) => Lines | null,
    private range: [number | null, number | null],
  ) {
    new ResizeObserver(() => this.resize()).observe(element);
  }

  // Charts are drawn at most four times a second: numbers that change faster cannot be read.
  update(): void {
    if (this.due) return;
    this.due = window.setTimeout(() => {
      this.due = 0;
      this.draw();
    }, 250);
  }

  rebuild(): void {
    this.shape = "";
    this.draw();
  }

  draw(): void {
    const lines = this.lines(this.store);
    this.element.closest("section")!.hidden = lines === null;
    if (!lines || this.element.clientWidth === 0) return;
    const shape = lines.series.map((s) => `${s.label}${s.stroke}${s.fill}`).join();
    if (this.plot && shape === this.shape) {
      this.plot.setData(lines.data as uPlot.AlignedData);
      return;
    }
    this.plot?.destroy();
    this.shape = shape;
    this.plot = new uPlot(this.options(lines), lines.data as uPlot.AlignedData, this.element);
    this.plot.over.addEventListener("click", (event) => {
      this.store.goToTime(this.plot!.posToVal(event.offsetX, "x"));
    });
  }

  private resize(): void {
    if (!this.plot) return this.draw();
    const { clientWidth: width, clientHeight: height } = this.element;
    if (width) this.plot.setSize({ width, height });
  }

  private options(lines: Lines): uPlot.Options {
    const soft = styleOf("--soft");
    const grid = { stroke: styleOf("--grid"), width: 1 };
    const axis = { stroke: soft, grid, ticks: grid, font: "12px system-ui, sans-serif" };
    const [low, high] = this.range;
    return {
      width: this.element.clientWidth,
      height: this.element.clientHeight,
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false } },
      scales: {
        x: { time: false },
        y: { range: (_u, min, max) => [low ?? min, high ?? (max > min ? max : min + 1)] },
      },
      axes: [
        { ...axis, values: (_u, marks) => marks.map((v) => format.time(v)) },
        { ...axis, size: 48 },
      ],
      series: [{}, ...lines.series],
      bands: lines.bands,
      hooks: { draw: [(plot) => this.mark(plot)] },
    };
  }

  private mark(plot: uPlot): void {
    const moment = this.store.current;
    if (!moment || this.store.following) return;
    const x = Math.round(plot.valToPos(moment.time, "x", true));
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.strokeStyle = styleOf("--ink");
    ctx.lineWidth = 2;
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    ctx.restore();
  }
}

function thinned(store: Store) {
  const every = Math.ceil(store.moments.length / POINTS);
  const last = store.moments.length - 1;
  return store.moments.filter((_, i) => i % every === 0 || i === last);
}

export function clusterCount(store: Store): Lines {
  const moments = thinned(store);
  return {
    data: [moments.map((m) => m.time), moments.map((m) => m.ids.length)],
    series: [{ label: "clusters", stroke: styleOf("--accent"), width: 2, paths: uPlot.paths.stepped!({ align: 1 }) }],
  };
}

export function river(store: Store): Lines {
  const moments = thinned(store);
  const mass = new Map<number, number>();
  for (const m of moments) m.ids.forEach((id, i) => mass.set(id, (mass.get(id) ?? 0) + m.weights[i]!));
  const arms = [...mass].sort((p, q) => q[1] - p[1]).slice(0, ARMS).map(([id]) => id).sort((p, q) => p - q);
  const sums = moments.map(() => 0);
  const data: number[][] = [moments.map((m) => m.time)];
  const series: uPlot.Series[] = [];
  const weights = moments.map((m) => new Map(m.ids.map((id, i) => [id, m.weights[i]!])));
  for (const id of arms) {
    weights.forEach((w, i) => (sums[i] = sums[i]! + (w.get(id) ?? 0)));
    data.push([...sums]);
    series.push(arm(String(id), colorOf(id)));
  }
  if (mass.size > arms.length) {
    data.push(weights.map((w) => [...w.values()].reduce((a, b) => a + b, 0)));
    series.push(arm("others", styleOf("--others")));
  }
  // Filled from the top down, so that each arm covers what is below it up to its own line.
  return { data: [data[0]!, ...data.slice(1).reverse()], series: series.reverse() };
}

function arm(label: string, color: string): uPlot.Series {
  return { label, stroke: styleOf("--ground"), width: 0.5, fill: faded(color, 0.85), points: { show: false } };
}

export function unusual(store: Store): Lines | null {
  const moments = thinned(store).filter((m) => m.score);
  if (!moments.length) return null;
  const quantile = (j: number) => moments.map((m) => m.score![1 + j]!);
  const accent = styleOf("--accent");
  return {
    data: [moments.map((m) => m.time), quantile(5), quantile(4), quantile(2), quantile(0)],
    series: [
      { label: "most", stroke: styleOf("--alarm"), width: 1.5, points: { show: false } },
      { label: "95 %", stroke: faded(accent, 0.6), width: 1, points: { show: false } },
      { label: "half", stroke: accent, width: 2, points: { show: false } },
      { label: "5 %", stroke: faded(accent, 0.6), width: 1, points: { show: false } },
    ],
    bands: [{ series: [2, 4], fill: faded(accent, 0.15) }],
  };
}
