// Ellipses that hold 95 % of a Gaussian cluster.

export interface Ellipse {
  x: number;
  y: number;
  a: number; // half axes
  b: number;
  angle: number;
}

const REACH = Math.sqrt(5.991);

export function ellipseOf(place: [number, number], spread: [number, number, number]): Ellipse {
  const [xx, xy, yy] = spread;
  const mid = (xx + yy) / 2;
  const off = Math.hypot((xx - yy) / 2, xy);
  return {
    x: place[0],
    y: place[1],
    a: REACH * Math.sqrt(Math.max(mid + off, 0)),
    b: REACH * Math.sqrt(Math.max(mid - off, 0)),
    angle: off === 0 ? 0 : 0.5 * Math.atan2(2 * xy, xx - yy),
  };
}

// How far a point is from the centre: 1 on the ellipse itself.
export function distance(e: Ellipse, x: number, y: number): number {
  const c = Math.cos(e.angle);
  const s = Math.sin(e.angle);
  const u = c * (x - e.x) + s * (y - e.y);
  const v = -s * (x - e.x) + c * (y - e.y);
  return Math.hypot(u / (e.a || 1e-12), v / (e.b || 1e-12));
}

// Between two ellipses, t from 0 to 1; angles take the short way.
export function between(p: Ellipse, q: Ellipse, t: number): Ellipse {
  let turn = (q.angle - p.angle) % Math.PI;
  if (turn > Math.PI / 2) turn -= Math.PI;
  if (turn < -Math.PI / 2) turn += Math.PI;
  const mix = (u: number, v: number) => u + t * (v - u);
  return {
    x: mix(p.x, q.x),
    y: mix(p.y, q.y),
    a: mix(p.a, q.a),
    b: mix(p.b, q.b),
    angle: p.angle + t * turn,
  };
}
