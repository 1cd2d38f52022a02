// Colours: the same for a cluster as long as it lives, readable on light and on dark.

import type { Moment } from "./chronicle";

const LIGHT = [
  "#332288", "#CC6677", "#117733", "#3d9ed1", "#882255", "#b39a1f",
  "#2f8f82", "#AA4499", "#7a7a18", "#0b6fae", "#d9641e", "#6b6b6b",
];
const DARK = [
  "#9B8CF0", "#E08090", "#3DAA66", "#88CCEE", "#D0609A", "#DDCC77",
  "#44AA99", "#D079C4", "#B5B54A", "#4FA8E0", "#EE8844", "#A9A9A9",
];

const SHADES = 2 * LIGHT.length; // those of the palette, and paler ones
const given = new Map<number, number>(); // the shade, by cluster

// A cluster that is new takes a colour that no other has, or one that its neighbours on the map,
// in number and in share do not have.
export function meet({ ids, places, weights }: Moment): void {
  const fresh = ids.map((_, i) => i).filter((i) => ids[i]! >= 0 && !given.has(ids[i]!));
  if (!fresh.length) return;
  const byShare = ranks(weights);
  const byNumber = ranks(ids);
  for (const i of fresh) {
    const known = ids.map((_, j) => j).filter((j) => j !== i && given.has(ids[j]!));
    const away = known.map((j) => (places ? Math.hypot(places[i]![0] - places[j]![0], places[i]![1] - places[j]![1]) : 0));
    const byPlace = ranks(away);
    const clash = new Array<number>(SHADES).fill(0);
    known.forEach((j, at) => {
      const near = [1 + byPlace[at]!, Math.abs(byShare[i]! - byShare[j]!), Math.abs(byNumber[i]! - byNumber[j]!)];
      clash[given.get(ids[j]!)!]! += near.reduce((sum, gap) => sum + 1 / gap ** 2, 0);
    });
    const own = ids[i]! % LIGHT.length;
    const order = clash.map((_, step) => (step < LIGHT.length ? 0 : LIGHT.length) + ((own + step) % LIGHT.length));
    given.set(ids[i]!, order.reduce((best, shade) => (clash[shade]! < clash[best]! ? shade : best)));
  }
}

// The places of values in their order.
function ranks(values: number[]): number[] {
  const out = new Array<number>(values.length).fill(0);
  values.map((_, i) => i).sort((p, q) => values[p]! - values[q]!).forEach((i, at) => (out[i] = at));
  return out;
}

let dark = false;
const styles = new Map<string, string>();

// Reading styles takes time: they are read once, and again when light becomes dark.
export function restyle(): void {
  const chosen = document.documentElement.dataset.theme;
  dark = chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  styles.clear();
}

export function colorOf(id: number): string {
  if (id < 0) return styleOf("--others");
  const shade = given.get(id) ?? id % LIGHT.length;
  const color = (dark ? DARK : LIGHT)[shade % LIGHT.length]!;
  return shade < LIGHT.length ? color : mixed(color, dark ? 0 : 255);
}

function mixed(color: string, other: number): string {
  const parts = [1, 3, 5].map((at) => Math.round(0.58 * parseInt(color.slice(at, at + 2), 16) + 0.42 * other));
  return `#${parts.map((part) => part.toString(16).padStart(2, "0")).join("")}`;
}

export function styleOf(name: string): string {
  let found = styles.get(name);
  if (found === undefined) {
    found = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
    styles.set(name, found);
  }
  return found;
}

// A colour with so much of it, as canvases take it.
export function faded(color: string, alpha: number): string {
  const part = Math.round(255 * Math.max(0, Math.min(1, alpha)));
  return color + part.toString(16).padStart(2, "0");
}
