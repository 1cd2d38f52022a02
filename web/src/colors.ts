// Colours: the same for a cluster as long as it lives, readable on light and on dark.

const LIGHT = [
  "#332288", "#CC6677", "#117733", "#3d9ed1", "#882255", "#b39a1f",
  "#2f8f82", "#AA4499", "#7a7a18", "#0b6fae", "#d9641e", "#6b6b6b",
];
const DARK = [
  "#9B8CF0", "#E08090", "#3DAA66", "#88CCEE", "#D0609A", "#DDCC77",
  "#44AA99", "#D079C4", "#B5B54A", "#4FA8E0", "#EE8844", "#A9A9A9",
];

const given = new Map<number, number>(); // the place in the palette, by cluster

// A cluster that is new takes the colour of its number, or the next that fewest living ones have.
export function meet(ids: number[]): void {
  const fresh = ids.filter((id) => id >= 0 && !given.has(id));
  if (!fresh.length) return;
  const used = new Array<number>(LIGHT.length).fill(0);
  for (const id of ids) if (given.has(id)) used[given.get(id)!]! += 1;
  for (const id of fresh) {
    let best = id % LIGHT.length;
    for (let step = 0; step < LIGHT.length; step += 1) {
      const place = (id + step) % LIGHT.length;
      if (used[place]! < used[best]!) best = place;
    }
    given.set(id, best);
    used[best]! += 1;
  }
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
  const palette = dark ? DARK : LIGHT;
  return id < 0 ? styleOf("--others") : palette[given.get(id) ?? id % palette.length]!;
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
