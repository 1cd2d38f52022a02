// What happened when, as marks above the slider.

import type { ClusterEvent } from "./chronicle";
import { faded, styleOf } from "./colors";
import type { Store } from "./store";

const COLORS: Record<string, string> = {
  birth: "--good",
  return: "--good",
  death: "--alarm",
  split: "--accent",
  merge: "--accent",
};

export class Timeline {
  private mark = "";

  constructor(
    private canvas: HTMLCanvasElement,
    private store: Store,
  ) {
    new ResizeObserver(() => this.draw()).observe(canvas);
  }

  update(): void {
    const { moments, events } = this.store;
    const mark = `${moments.length}/${events.length}/${moments.at(-1)?.batch}`;
    if (mark === this.mark) return;
    this.mark = mark;
    this.draw();
  }

  draw(): void {
    const { clientWidth: w, clientHeight: h } = this.canvas;
    const ratio = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(w * ratio);
    this.canvas.height = Math.round(h * ratio);
    const g = this.canvas.getContext("2d")!;
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.clearRect(0, 0, w, h);
    this.drawUnusual(g, w, h);
    for (const event of this.store.events) this.drawEvent(g, event, w, h);
  }

  // How unusual the most unusual row was, as a low hill.
  private drawUnusual(g: CanvasRenderingContext2D, w: number, h: number): void {
    const high = this.store.moments.map((m) => -(m.score?.[1] ?? Number.NaN));
    const known = high.filter((v) => Number.isFinite(v));
    if (known.length < 2) return;
    const low = Math.min(...known);
    const span = Math.max(...known) - low || 1;
    g.beginPath();
    g.moveTo(0, h);
    high.forEach((v, i) => {
      g.lineTo((w * i) / (high.length - 1), h - 0.85 * h * (Number.isFinite(v) ? (v - low) / span : 0));
    });
    g.lineTo(w, h);
    g.fillStyle = faded(styleOf("--soft"), 0.22);
    g.fill();
  }

  private drawEvent(g: CanvasRenderingContext2D, event: ClusterEvent, w: number, h: number): void {
    const { moments } = this.store;
    if (moments.length < 2) return;
    const at = this.place(event.time);
    g.fillStyle = faded(styleOf(COLORS[event.kind] ?? "--soft"), 0.75);
    g.fillRect(Math.round(w * at) - 0.75, 0.35 * h, 1.5, 0.65 * h);
  }

  // Where a time is on the slider, from 0 to 1: moments are as far apart there as they are many.
  private place(time: number): number {
    const { moments } = this.store;
    let a = 0;
    let b = moments.length - 1;
    while (b - a > 1) {
      const mid = (a + b) >> 1;
      if (moments[mid]!.time <= time) a = mid;
      else b = mid;
    }
    const span = moments[b]!.time - moments[a]!.time;
    const part = span > 0 ? Math.max(0, Math.min(1, (time - moments[a]!.time) / span)) : 0;
    return (a + part) / (moments.length - 1);
  }
}
