// How clusters, groups and paths are drawn on the map.

import { colorOf, faded, styleOf } from "./colors";
import type { Ellipse } from "./ellipse";
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

export function drawAxes(g: CanvasRenderingContext2D, axes: [string, string], w: number, h: number): void {
  g.fillStyle = styleOf("--soft");
  g.font = "12px Inter, system-ui, sans-serif";
  g.textBaseline = "alphabetic";
  g.textAlign = "right";
  g.fillText(axes[0], w - 12, h - 10);
  g.save();
  g.translate(18, 12);
  g.rotate(-Math.PI / 2);
  g.fillText(axes[1], 0, 0);
  g.restore();
}

type Scale = (u: number) => number;
