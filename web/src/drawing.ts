// How clusters, groups and paths are drawn on the map.

import { colorOf, faded, styleOf } from "./colors";
import type { Ellipse } from "./ellipse";
import type { Plane } from "./plane";
import type { Store } from "./store";
import type { View } from "./view";

export interface Seen {
  id: number;
  weight: number;
  shape: Ellipse;
  opacity: number;
  group: number | undefined;
}

const LARGEST = 60; // clusters that are filled and have their number: more make mud, and take time

export function drawClusters(g: CanvasRenderingContext2D, view: View, seen: Seen[], store: Store): void {
  const x = (u: number) => view.left + view.k * u;
  const y = (v: number) => view.top - view.k * v;
  const chosen = store.selected;
  const largest = new Set([...seen].sort((p, q) => q.weight - p.weight).slice(0, LARGEST));
  for (const one of seen) {
    const { id, weight, shape: e, opacity } = one;
    const color = colorOf(id);
    const strong = chosen === id || store.hovered === id;
    const dim = chosen !== null && !strong ? 0.35 : 1;
    g.beginPath();
    g.ellipse(x(e.x), y(e.y), Math.max(view.k * e.a, 2), Math.max(view.k * e.b, 2), -e.angle, 0, 2 * Math.PI);
    if (strong || largest.has(one)) {
      g.fillStyle = faded(color, (0.09 + 0.28 * Math.sqrt(weight)) * opacity * dim * (strong ? 1.4 : 1));
      g.fill();
    }
    g.lineWidth = strong ? 3 : 1.5;
    g.strokeStyle = faded(color, opacity * dim);
    g.stroke();
  }
  const labelled = seen.filter((d) => largest.has(d) || d.id === chosen || d.id === store.hovered);
  drawLabels(g, x, y, labelled, store);
}

function drawLabels(g: CanvasRenderingContext2D, x: Scale, y: Scale, seen: Seen[], store: Store): void {
  g.font = "650 12px Inter, system-ui, sans-serif";
  g.textAlign = "center";
  g.textBaseline = "middle";
  g.lineJoin = "round";
  g.lineWidth = 3.5;
  const [ink, ground] = [styleOf("--ink"), styleOf("--ground")];
  for (const { id, shape, opacity } of seen) {
    const dim = store.selected !== null && store.selected !== id && store.hovered !== id ? 0.45 : 1;
    g.strokeStyle = faded(ground, 0.75 * opacity * dim);
    g.strokeText(String(id), x(shape.x), y(shape.y));
    g.fillStyle = faded(ink, opacity * dim);
    g.fillText(String(id), x(shape.x), y(shape.y));
  }
}

// The way that a cluster has come.
export function drawPath(g: CanvasRenderingContext2D, view: View, store: Store, id: number): void {
  const places: [number, number][] = [];
  for (let i = 0; i <= store.index; i += 1) {
    const moment = store.moments[i]!;
    const place = moment.places?.[moment.ids.indexOf(id)];
    if (place) places.push(place);
  }
  if (places.length < 2) return;
  const color = colorOf(id);
  const at = ([u, v]: [number, number]): [number, number] => [view.left + view.k * u, view.top - view.k * v];
  g.lineWidth = 2;
  g.lineCap = g.lineJoin = "round";
  g.strokeStyle = faded(color, 0.75);
  g.beginPath();
  places.forEach((place, i) => (i ? g.lineTo(...at(place)) : g.moveTo(...at(place))));
  g.stroke();
  g.beginPath();
  g.arc(...at(places[0]!), 3.5, 0, 2 * Math.PI);
  g.fillStyle = styleOf("--ground");
  g.fill();
  g.stroke();
}

const layer = document.createElement("canvas");
const OUTSIDE = 9; // pixels from a cluster to the outline of its group

// A line around the clusters of each group, as if they were one.
export function drawGroups(g: CanvasRenderingContext2D, view: View, seen: Seen[]): void {
  const groups = new Map<number, Seen[]>();
  for (const d of seen) {
    if (d.group !== undefined) groups.set(d.group, [...(groups.get(d.group) ?? []), d]);
  }
  const ratio = g.getTransform().a;
  for (const [group, members] of groups) {
    if (members.length < 2) continue;
    layer.width = g.canvas.width;
    layer.height = g.canvas.height;
    const own = layer.getContext("2d")!;
    own.setTransform(ratio, 0, 0, ratio, 0, 0);
    own.fillStyle = faded(colorOf(group), 0.9);
    fillAll(own, view, members, OUTSIDE);
    own.globalCompositeOperation = "destination-out";
    own.fillStyle = "#000000";
    fillAll(own, view, members, OUTSIDE - 2);
    g.save();
    g.setTransform(1, 0, 0, 1, 0, 0);
    g.drawImage(layer, 0, 0);
    g.restore();
  }
}

function fillAll(g: CanvasRenderingContext2D, view: View, members: Seen[], wider: number): void {
  for (const { shape: e } of members) {
    g.beginPath();
    g.ellipse(view.left + view.k * e.x, view.top - view.k * e.y, view.k * e.a + wider, view.k * e.b + wider, -e.angle, 0, 2 * Math.PI);
    g.fill();
  }
}

// The axes' names, and marks with lines where an axis is a column.
export function drawAxes(g: CanvasRenderingContext2D, view: View, plane: Plane, w: number, h: number): void {
  g.font = "12px Inter, system-ui, sans-serif";
  g.textBaseline = "alphabetic";
  g.strokeStyle = styleOf("--grid");
  g.lineWidth = 1;
  const across = plane.marks(0, -view.left / view.k, (w - view.left) / view.k);
  const up = plane.marks(1, (view.top - h) / view.k, view.top / view.k);
  g.beginPath();
  for (const { at } of across) drawLine(g, view.left + view.k * at, 0, 0, h);
  for (const { at } of up) drawLine(g, 0, view.top - view.k * at, w, 0);
  g.stroke();
  g.fillStyle = styleOf("--soft");
  g.textAlign = "center";
  let end = 40; // where the last text ends
  for (const { at, text } of across) {
    const x = view.left + view.k * at;
    const half = g.measureText(text).width / 2;
    if (x - half < end || x + half > w - 4) continue;
    g.fillText(text, x, h - 8);
    end = x + half + 10;
  }
  g.textAlign = "left";
  let y = h - 30;
  for (const { at, text } of up) {
    const here = view.top - view.k * at;
    if (here > y || here < 34) continue;
    g.fillText(text, 8, here - 3);
    y = here - 18;
  }
  g.font = "600 12px Inter, system-ui, sans-serif";
  g.fillText(fitted(g, plane.names[1] && `${plane.names[1]} ↑`, w - 20), 10, 20);
  g.textAlign = "right";
  g.fillText(fitted(g, plane.names[0] && `${plane.names[0]} →`, w - 20), w - 10, h - (across.length ? 26 : 10));
}

function drawLine(g: CanvasRenderingContext2D, x: number, y: number, dx: number, dy: number): void {
  g.moveTo(Math.round(x) + 0.5, Math.round(y) + 0.5);
  g.lineTo(Math.round(x + dx) + 0.5, Math.round(y + dy) + 0.5);
}

// A text cut to a width.
function fitted(g: CanvasRenderingContext2D, text: string, width: number): string {
  let most = text.length;
  while (most > 3 && g.measureText(text.slice(0, most)).width > width - 14) most -= 1;
  return most < text.length ? `${text.slice(0, most)}…` : text;
}

type Scale = (u: number) => number;
