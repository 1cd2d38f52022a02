// The map: clusters as ellipses that move smoothly, and rows that came lately.

import type { Moment } from "./chronicle";
import { make } from "./dom";
import { type Seen, drawAxes, drawClusters, drawGroups, drawPath } from "./drawing";
import { type Ellipse, between, distance } from "./ellipse";
import * as format from "./format";
import { named } from "./panels";
import { RowLayer } from "./rows";
import type { Store } from "./store";
import { type Box, type View, fitting, mixed, shapeOf, viewOf } from "./view";

interface Drawn {
  id: number;
  weight: number;
  from: Ellipse;
  to: Ellipse;
  appears: number; // opacity at the begin and at the end of the glide
  stays: number;
  group: number | undefined;
}

export class ClusterMap {
  frames = 0; // drawn so far
  private drawn: Drawn[] = [];
  private moment: Moment | undefined;
  private begun = 0;
  private glide = 1; // milliseconds
  private boxFrom: Box = { x0: -1, x1: 1, y0: -1, y1: 1 };
  private boxTo: Box = this.boxFrom;
  private waiting = false;
  private rows: RowLayer;

  constructor(
    private canvas: HTMLCanvasElement,
    private tip: HTMLElement,
    private store: Store,
  ) {
    this.rows = new RowLayer(store);
    canvas.addEventListener("click", (event) => store.select(this.nearest(event.offsetX, event.offsetY)));
    canvas.addEventListener("pointermove", (event) => this.point(event));
    canvas.addEventListener("pointerleave", () => this.point(null));
    new ResizeObserver(() => this.redraw()).observe(canvas);
  }

  get rowsDrawn(): number {
    return this.rows.drawn;
  }

  update(): void {
    const moment = this.store.current;
    if (moment && moment !== this.moment) this.glideTo(moment);
    this.redraw();
  }

  redraw(): void {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame((now) => {
      this.waiting = false;
      this.draw(now);
    });
  }

  // Where points of the plane are on the canvas.
  scale(): View {
    return viewOf(this.boxAt(performance.now()), this.canvas.clientWidth, this.canvas.clientHeight);
  }

  // -- from one moment to the next ------------------------------------------------------------

  private glideTo(moment: Moment): void {
    const now = performance.now();
    const was = new Map(this.drawn.map((d) => [d.id, this.at(d, now)]));
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const next: Drawn[] = [];
    moment.ids.forEach((id, i) => {
      const to = shapeOf(moment, i);
      if (!to) return;
      const old = was.get(id);
      was.delete(id);
      next.push({
        id,
        weight: moment.weights[i]!,
        from: old?.shape ?? { ...to, a: to.a * 0.2, b: to.b * 0.2 },
        to,
        appears: old?.opacity ?? 0,
        stays: 1,
        group: moment.groups?.[i],
      });
    });
    for (const [id, { shape, opacity }] of was) {
      if (opacity > 0.05) {
        next.push({ id, weight: 0, from: shape, to: shape, appears: opacity, stays: 0, group: undefined });
      }
    }
    this.drawn = next;
    this.boxFrom = this.boxAt(now);
    this.boxTo = fitting(moment, this.boxTo, !this.moment);
    if (!this.moment) this.boxFrom = this.boxTo;
    this.glide = this.store.pace;
    this.begun = still || !this.moment ? now - this.glide : now;
    this.moment = moment;
  }

  private progress(now: number): number {
    const t = Math.max(0, Math.min(1, (now - this.begun) / this.glide));
    return this.store.replaying ? t : t * (2 - t);
  }

  private at(d: Drawn, now: number): { shape: Ellipse; opacity: number } {
    const t = this.progress(now);
    return { shape: between(d.from, d.to, t), opacity: d.appears + t * (d.stays - d.appears) };
  }

  private boxAt(now: number): Box {
    return mixed(this.boxFrom, this.boxTo, this.progress(now));
  }

  private draw(now: number): void {
    const { canvas, store } = this;
    const { clientWidth: w, clientHeight: h } = canvas;
    const ratio = window.devicePixelRatio || 1;
    if (canvas.width !== Math.round(w * ratio) || canvas.height !== Math.round(h * ratio)) {
      canvas.width = Math.round(w * ratio);
      canvas.height = Math.round(h * ratio);
    }
    if (!canvas.width || !canvas.height) return;
    const g = canvas.getContext("2d")!;
    const view = viewOf(this.boxAt(now), w, h);
    g.setTransform(1, 0, 0, 1, 0, 0);
    g.clearRect(0, 0, canvas.width, canvas.height);
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    drawAxes(g, view, store.plane, w, h);
    g.setTransform(1, 0, 0, 1, 0, 0);
    g.drawImage(this.rows.at(view, canvas.width, canvas.height, ratio), 0, 0);
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    const seen: Seen[] = this.drawn.map((d) => ({ id: d.id, weight: d.weight, group: d.group, ...this.at(d, now) }));
    drawGroups(g, view, seen);
    const followed = store.hovered ?? store.selected;
    if (followed !== null) drawPath(g, view, store, followed);
    drawClusters(g, view, seen, store);
    this.frames += 1;
    if (this.progress(now) < 1) this.redraw();
  }

  // -- the pointer ----------------------------------------------------------------------------

  private nearest(left: number, top: number): number | null {
    const view = this.scale();
    const u = (left - view.left) / view.k;
    const v = (view.top - top) / view.k;
    const now = performance.now();
    let best: { id: number; far: number } | null = null;
    for (const d of this.drawn) {
      if (!d.stays) continue;
      const { shape } = this.at(d, now);
      const pixels = view.k * Math.hypot(u - shape.x, v - shape.y);
      const far = Math.min(distance(shape, u, v), pixels / 14);
      if (far <= 1.1 && (!best || far < best.far)) best = { id: d.id, far };
    }
    return best ? best.id : null;
  }

  private point(event: PointerEvent | null): void {
    const touch = event !== null && event.pointerType === "touch";
    const id = event && !touch ? this.nearest(event.offsetX, event.offsetY) : null;
    this.store.hover(id);
    const { tip } = this;
    tip.hidden = id === null;
    if (id === null || !event) return;
    if (tip.dataset.of !== `${id}/${this.moment?.batch}`) {
      tip.dataset.of = `${id}/${this.moment?.batch}`;
      tip.replaceChildren(...this.words(id));
    }
    const { clientWidth: w, clientHeight: h } = this.canvas;
    const right = event.offsetX + 16 + tip.offsetWidth > w;
    const low = event.offsetY + 16 + tip.offsetHeight > h;
    tip.style.left = `${event.offsetX + (right ? -16 - tip.offsetWidth : 16)}px`;
    tip.style.top = `${Math.max(4, event.offsetY + (low ? -16 - tip.offsetHeight : 16))}px`;
  }

  // A cluster in a few words.
  private words(id: number): Node[] {
    const moment = this.moment!;
    const i = moment.ids.indexOf(id);
    const head = make("b");
    head.append(named(id, "Cluster "));
    const said = moment.says?.[i];
    return [head, make("span", `${format.share(moment.weights[i] ?? 0)} of the rows`), ...(said ? [make("span", said)] : [])];
  }
}
