// The plane of the map: its axes, their marks, and where a moment's places lie in it.

import type { Moment, Projection } from "./chronicle";
import * as format from "./format";

type Unit = number | null | undefined; // of columns that go by their logarithms

export const bend = (x: number, unit: Unit) => (unit ? Math.asinh(x / unit) : x);
export const unbend = (v: number, unit: Unit) => (unit ? unit * Math.sinh(v) : v);

export class Plane {
  names: [string, string] = ["", ""];
  private factor = [1, 1]; // of the two columns of a table that has no more
  private column: (number | undefined)[] = []; // of each axis that is one alone

  constructor(
    private projection: Projection | null = null,
    first?: Moment,
  ) {
    if (!projection) return;
    this.names = projection.labels;
    this.column = [0, 1].map((a) => {
      const some = projection.axes.flatMap((row, j) => (row[a] ? [j] : []));
      return some.length === 1 ? some[0] : undefined;
    });
    if (!first?.places || this.column.includes(undefined)) return;
    this.factor = [0, 1].map((a) => {
      const reach = first.places!.map((_, i) => 2 * Math.sqrt(first.spreads?.[i]?.[2 * a] ?? 0));
      const low = Math.min(...first.places!.map((place, i) => place[a]! - reach[i]!));
      const high = Math.max(...first.places!.map((place, i) => place[a]! + reach[i]!));
      return high > low ? 2 / (high - low) : 1;
    });
  }

  unit(column: number): Unit {
    return this.projection?.unit[column];
  }

  // Bring a moment's places into the plane, where columns of any unit are equally wide.
  place(moment: Moment): void {
    const [f, g] = this.factor as [number, number];
    const moved = ([u, v]: [number, number]): [number, number] => [f * u, g * v];
    moment.places = moment.places?.map(moved);
    moment.spreads = moment.spreads?.map(([xx, xy, yy]) => [f * f * xx, f * g * xy, g * g * yy]);
    if (moment.rows) moment.rows.places = moment.rows.places.map(moved);
  }

  // What to write where on an axis between two ends; nothing where it is several columns.
  marks(axis: 0 | 1, low: number, high: number): { at: number; text: string }[] {
    const j = this.column[axis];
    if (j === undefined) return [];
    const { center, axes } = this.projection!;
    const stretch = this.factor[axis]! * axes[j]![axis]!;
    const unit = this.unit(j);
    const from = low / stretch + center[j]!;
    const to = high / stretch + center[j]!;
    const values = unit ? powers(unit, from, to) : steps(from, to);
    return values.map((x) => ({ at: stretch * (bend(x, unit) - center[j]!), text: format.mark(x) }));
  }
}

function steps(from: number, to: number): number[] {
  const rough = (to - from) / 5;
  const ten = 10 ** Math.floor(Math.log10(rough));
  const step = ten * (rough < 2 * ten ? 2 : rough < 5 * ten ? 5 : 10);
  const out: number[] = [];
  for (let i = Math.ceil(from / step); i * step <= to && out.length < 20; i += 1) out.push(i * step);
  return out;
}

function powers(unit: number, from: number, to: number): number[] {
  const first = Math.floor(Math.log10(unit));
  const last = Math.ceil(Math.log10(unit) + Math.max(-from, to) / Math.LN10);
  const every = Math.max(1, Math.round((to - from) / Math.LN10 / 8));
  const out = [0];
  for (let e = first; e <= last; e += every) {
    for (const m of to - from < 5 ? [1, 2, 5] : [1]) out.push(Number(`${m}e${e}`), -Number(`${m}e${e}`));
  }
  return out.filter((x) => bend(x, unit) >= from && bend(x, unit) <= to).sort((a, b) => a - b);
}
