// Colours: the same for a cluster as long as it lives, readable on light and on dark.

const LIGHT = [
  "#332288", "#CC6677", "#117733", "#3d9ed1", "#882255", "#b39a1f",
  "#2f8f82", "#AA4499", "#7a7a18", "#0b6fae", "#d9641e", "#6b6b6b",
];
const DARK = [
  "#9B8CF0", "#E08090", "#3DAA66", "#88CCEE", "#D0609A", "#DDCC77",
  "#44AA99", "#D079C4", "#B5B54A", "#4FA8E0", "#EE8844", "#A9A9A9",
];

export const PALETTE_SIZE = LIGHT.length;

export function isDark(): boolean {
  const chosen = document.documentElement.dataset.theme;
  if (chosen) return chosen === "dark";
  return matchMedia("(prefers-color-scheme: dark)").matches;
}

export function colorOf(id: number): string {
  const palette = isDark() ? DARK : LIGHT;
  return id < 0 ? styleOf("--others") : palette[id % palette.length]!;
}

export function styleOf(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

// A colour with so much of it, as canvases take it.
export function faded(color: string, alpha: number): string {
  const part = Math.round(255 * Math.max(0, Math.min(1, alpha)));
  return color + part.toString(16).padStart(2, "0");
}
