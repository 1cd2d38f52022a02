// Rows that came lately, drawn once for a moment and a view.

import { colorOf, faded } from "./colors";
import type { Store } from "./store";
import type { View } from "./view";

const RECENT = 10_000; // rows drawn at most
const MOMENTS = 200; // that they are from, at most
const AGES = [0.85, 0.5, 0.3]; // how strong rows are: of this moment, of late, and older ones

export class RowLayer {
  drawn = 0; // rows on the layer
  private layer = document.createElement("canvas");
  private mark = "";

  constructor(private store: Store) {}

  // Return a canvas of so many pixels with the rows up to the moment that is looked at.
  at(view: View, width: number, height: number, ratio: number): HTMLCanvasElement {
    const { store } = this;
    const mark = [store.current?.batch, store.index, store.moments.length, view.k, view.left, view.top, width, height, colorOf(0), store.selected].join();
    if (mark === this.mark) return this.layer;
    this.mark = mark;
    this.layer.width = width;
    this.layer.height = height;
    const g = this.layer.getContext("2d")!;
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.drawn = 0;
    this.gathered().forEach((paths, age) => {
      for (const [label, places] of paths) {
        const quiet = store.selected !== null && store.selected !== label ? 0.45 : 1;
        g.fillStyle = faded(colorOf(label), AGES[age]! * quiet);
        g.beginPath();
        const size = age ? 2 : 2.6;
        for (const [u, v] of places) g.rect(view.left + view.k * u - size / 2, view.top - view.k * v - size / 2, size, size);
        g.fill();
        this.drawn += places.length;
      }
    });
    return this.layer;
  }

  // The rows by age and label, the oldest first.
  private gathered(): Map<number, [number, number][]>[] {
    const ages = AGES.map(() => new Map<number, [number, number][]>());
    const { moments, index } = this.store;
    let left = RECENT;
    for (let i = index; i >= 0 && left > 0 && index - i < MOMENTS; i -= 1) {
      const rows = moments[i]?.rows;
      if (!rows) continue;
      const paths = ages[i === index ? 0 : index - i < 12 ? 1 : 2]!;
      rows.places.forEach((place, j) => {
        const label = rows.labels[j]!;
        const known = paths.get(label);
        if (known) known.push(place);
        else paths.set(label, [place]);
      });
      left -= rows.places.length;
    }
    return ages;
  }
}
