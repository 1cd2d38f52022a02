// The map: clusters as ellipses that move smoothly, and rows that came lately.

import type { Moment } from "./chronicle";
import { colorOf, faded, styleOf } from "./colors";
import { type Ellipse, between, distance, ellipseOf, hull, outline } from "./ellipse";
import type { Store } from "./store";

const GLIDE = 450; // milliseconds from one moment to the next
const RECENT = 10_000; // rows drawn at most

interface Box {
  x0: number;
  x1: number;
  y0: number;
  y1: number;
}

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
  private box: Box = { x0: -1, x1: 1, y0: -1, y1: 1 };
  private boxFrom: Box = this.box;
  private boxTo: Box = this.box;
  private waiting = false;

  constructor(
    private canvas: HTMLCanvasElement,
    private store: Store,
  ) {
    canvas.addEventListener("click", (event) => this.clicked(event));
    new ResizeObserver(() => this.redraw()).observe(canvas);
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
    this.boxTo = this.fitting(moment);
    if (!this.moment) this.boxFrom = this.boxTo;
    this.begun = still || !this.moment ? now - GLIDE : now;
    this.moment = moment;
  }

  private progress(now: number): number {
    const t = Math.min(1, (now - this.begun) / GLIDE);
    return t * (2 - t);
  }

  private at(d: Drawn, now: number): { shape: Ellipse; opacity: number } {
    const t = this.progress(now);
    return { shape: between(d.from, d.to, t), opacity: d.appears + t * (d.stays - d.appears) };
  }

  private boxAt(now: number): Box {
    const t = this.progress(now);
    const mix = (k: keyof Box) => this.boxFrom[k] + t * (this.boxTo[k] - this.boxFrom[k]);
    return { x0: mix("x0"), x1: mix("x1"), y0: mix("y0"), y1: mix("y1") };
  }

  // The view shows all clusters of the moment; it grows at once and shrinks only when half empty.
  private fitting(moment: Moment): Box {
    const need: Box = { x0: Infinity, x1: -Infinity, y0: Infinity, y1: -Infinity };
    moment.ids.forEach((_, i) => {
      const e = shapeOf(moment, i);
      if (!e || moment.weights[i]! < 0.002) return;
      const r = Math.max(e.a, e.b);
      need.x0 = Math.min(need.x0, e.x - r);
      need.x1 = Math.max(need.x1, e.x + r);
      need.y0 = Math.min(need.y0, e.y - r);
      need.y1 = Math.max(need.y1, e.y + r);
    });
    if (!(need.x1 > need.x0)) return this.boxTo;
    const grown = margins(need, 0.06);
    const held = this.boxTo;
    const inside =
      need.x0 >= held.x0 && need.x1 <= held.x1 && need.y0 >= held.y0 && need.y1 <= held.y1;
    const area = (b: Box) => (b.x1 - b.x0) * (b.y1 - b.y0);
    return inside && this.moment && area(grown) > 0.5 * area(held) ? held : grown;
  }

  private scale(): { k: number; left: number; top: number } {
    const { clientWidth: w, clientHeight: h } = this.canvas;
    const box = this.box;
    const k = Math.min(w / (box.x1 - box.x0), h / (box.y1 - box.y0));
    return {
      k,
      left: (w - k * (box.x1 - box.x0)) / 2 - k * box.x0,
      top: (h - k * (box.y1 - box.y0)) / 2 + k * box.y1,
    };
  }

  private draw(now: number): void {
    const { canvas } = this;
    const { clientWidth: w, clientHeight: h } = canvas;
    const ratio = window.devicePixelRatio || 1;
    if (canvas.width !== Math.round(w * ratio) || canvas.height !== Math.round(h * ratio)) {
      canvas.width = Math.round(w * ratio);
      canvas.height = Math.round(h * ratio);
    }
    const g = canvas.getContext("2d")!;
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.clearRect(0, 0, w, h);
    this.box = this.boxAt(now);
    const { k, left, top } = this.scale();
    const x = (u: number) => left + k * u;
    const y = (v: number) => top - k * v;
    this.drawRows(g, x, y);
    this.drawGroups(g, x, y, now);
    this.drawClusters(g, x, y, k, now);
    this.drawAxes(g, w, h);
    this.frames += 1;
    if (this.progress(now) < 1) this.redraw();
  }

  private drawRows(g: CanvasRenderingContext2D, x: Scale, y: Scale): void {
    const byColor = new Map<string, [number, number][]>();
    let left = RECENT;
    for (let i = this.store.index; i >= 0 && left > 0; i -= 1) {
      const rows = this.store.moments[i]?.rows;
      if (!rows) continue;
      rows.places.forEach((place, j) => {
        const color = colorOf(rows.labels[j]!);
        if (!byColor.has(color)) byColor.set(color, []);
        byColor.get(color)!.push(place);
      });
      left -= rows.places.length;
      if (this.store.index - i > 200) break;
    }
    for (const [color, places] of byColor) {
      g.fillStyle = faded(color, 0.35);
      for (const [u, v] of places) g.fillRect(x(u) - 1, y(v) - 1, 2, 2);
    }
  }

  private drawClusters(g: CanvasRenderingContext2D, x: Scale, y: Scale, k: number, now: number): void {
    const chosen = this.store.selected;
    const ink = styleOf("--ink");
    g.font = "600 12px system-ui, sans-serif";
    g.textAlign = "center";
    g.textBaseline = "middle";
    const labelled = this.largest(40);
    for (const d of this.drawn) {
      const { shape: e, opacity } = this.at(d, now);
      const color = colorOf(d.id);
      const dim = chosen !== null && chosen !== d.id ? 0.35 : 1;
      g.beginPath();
      g.ellipse(x(e.x), y(e.y), Math.max(k * e.a, 2), Math.max(k * e.b, 2), -e.angle, 0, 2 * Math.PI);
      g.fillStyle = faded(color, (0.1 + 0.3 * Math.sqrt(d.weight)) * opacity * dim);
      g.fill();
      g.lineWidth = chosen === d.id ? 3 : 1.5;
      g.strokeStyle = faded(color, opacity * dim);
      g.stroke();
      if (labelled.has(d.id) || chosen === d.id) {
        g.fillStyle = faded(ink, opacity * dim);
        g.fillText(String(d.id), x(e.x), y(e.y));
      }
    }
  }

  private drawGroups(g: CanvasRenderingContext2D, x: Scale, y: Scale, now: number): void {
    const groups = new Map<number, [number, number][]>();
    const sizes = new Map<number, number>();
    for (const d of this.drawn) {
      if (d.group === undefined) continue;
      const points = groups.get(d.group) ?? [];
      points.push(...outline(this.at(d, now).shape));
      groups.set(d.group, points);
      sizes.set(d.group, (sizes.get(d.group) ?? 0) + 1);
    }
    g.setLineDash([6, 4]);
    g.lineWidth = 1.5;
    for (const [group, points] of groups) {
      if ((sizes.get(group) ?? 0) < 2) continue;
      g.beginPath();
      hull(points).forEach(([u, v], i) => (i ? g.lineTo(x(u), y(v)) : g.moveTo(x(u), y(v))));
      g.closePath();
      g.strokeStyle = faded(colorOf(group), 0.9);
      g.stroke();
    }
    g.setLineDash([]);
  }

  private drawAxes(g: CanvasRenderingContext2D, w: number, h: number): void {
    g.fillStyle = styleOf("--soft");
    g.font = "12px system-ui, sans-serif";
    g.textBaseline = "alphabetic";
    g.textAlign = "right";
    g.fillText(this.store.axes[0], w - 8, h - 8);
    g.save();
    g.translate(14, 8);
    g.rotate(-Math.PI / 2);
    g.fillText(this.store.axes[1], 0, 0);
    g.restore();
  }

  private largest(n: number): Set<number> {
    const sorted = [...this.drawn].sort((p, q) => q.weight - p.weight);
    return new Set(sorted.slice(0, n).map((d) => d.id));
  }

  private clicked(event: MouseEvent): void {
    const { k, left, top } = this.scale();
    const u = (event.offsetX - left) / k;
    const v = (top - event.offsetY) / k;
    const now = performance.now();
    let best: { id: number; far: number } | null = null;
    for (const d of this.drawn) {
      if (!d.stays) continue;
      const { shape } = this.at(d, now);
      const pixels = k * Math.hypot(u - shape.x, v - shape.y);
      const far = Math.min(distance(shape, u, v), pixels / 14);
      if (far <= 1.1 && (!best || far < best.far)) best = { id: d.id, far };
    }
    this.store.select(best ? best.id : null);
  }
}

type Scale = (u: number) => number;

function shapeOf(moment: Moment, i: number): Ellipse | null {
  const place = moment.places?.[i];
  if (!place) return null;
  const spread = moment.spreads?.[i];
  if (spread) return ellipseOf(place, spread);
  const r = 0.2 * Math.sqrt(moment.weights[i]!);
  return { x: place[0], y: place[1], a: r, b: r, angle: 0 };
}

function margins(box: Box, part: number): Box {
  const dx = part * (box.x1 - box.x0);
  const dy = part * (box.y1 - box.y0);
  return { x0: box.x0 - dx, x1: box.x1 + dx, y0: box.y0 - dy, y1: box.y1 + dy };
}
