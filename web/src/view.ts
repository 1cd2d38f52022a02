// The part of the plane that is seen, and where its points are on a canvas.

import type { Moment } from "./chronicle";
import { type Ellipse, ellipseOf } from "./ellipse";

export interface Box {
  x0: number;
  x1: number;
  y0: number;
  y1: number;
}

export interface View {
  k: number; // pixels of a unit
  left: number;
  top: number;
}

export function viewOf(box: Box, w: number, h: number): View {
  const k = Math.min(w / (box.x1 - box.x0), h / (box.y1 - box.y0));
  return {
    k,
    left: (w - k * (box.x1 - box.x0)) / 2 - k * box.x0,
    top: (h - k * (box.y1 - box.y0)) / 2 + k * box.y1,
  };
}

export function mixed(p: Box, q: Box, t: number): Box {
  const mix = (k: keyof Box) => p[k] + t * (q[k] - p[k]);
  return { x0: mix("x0"), x1: mix("x1"), y0: mix("y0"), y1: mix("y1") };
}

// A view that shows all clusters of a moment: it grows at once and shrinks only when half empty.
export function fitting(moment: Moment, held: Box, first: boolean): Box {
  const need: Box = { x0: Infinity, x1: -Infinity, y0: Infinity, y1: -Infinity };
  moment.ids.forEach((_, i) => {
    const e = shapeOf(moment, i);
    if (!e || moment.weights[i]! < 0.001) return;
    const r = Math.max(e.a, e.b);
    need.x0 = Math.min(need.x0, e.x - r);
    need.x1 = Math.max(need.x1, e.x + r);
    need.y0 = Math.min(need.y0, e.y - r);
    need.y1 = Math.max(need.y1, e.y + r);
  });
  if (!(need.x1 > need.x0)) return held;
  const grown = margins(need, 0.06);
  const inside = need.x0 >= held.x0 && need.x1 <= held.x1 && need.y0 >= held.y0 && need.y1 <= held.y1;
  const area = (b: Box) => (b.x1 - b.x0) * (b.y1 - b.y0);
  return inside && !first && area(grown) > 0.5 * area(held) ? held : grown;
}

export function shapeOf(moment: Moment, i: number): Ellipse | null {
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
