// Means and spreads over all clusters of a moment, as columns are drawn.

import type { Moment } from "./chronicle";
import { type Plane, bend } from "./plane";

export interface Overall {
  mean: number[];
  sd: number[]; // of all rows: between clusters and within them
}

export function overall(moment: Moment, plane: Plane): Overall | null {
  if (!moment.means) return null;
  const d = moment.means[0]?.length ?? 0;
  const mean = new Array<number>(d).fill(0);
  const square = new Array<number>(d).fill(0);
  const total = moment.weights.reduce((a, b) => a + b, 0) || 1;
  moment.means.forEach((row, i) =>
    row.forEach((value, j) => {
      const w = moment.weights[i]! / total;
      const unit = plane.unit(j);
      const here = bend(value ?? 0, unit);
      const wide = (bend(moment.highs?.[i]?.[j] ?? 0, unit) - bend(moment.lows?.[i]?.[j] ?? 0, unit)) / 2;
      const sd = unit ? wide : (moment.deviations?.[i]?.[j] ?? 0);
      mean[j] = mean[j]! + w * here;
      square[j] = square[j]! + w * (here ** 2 + sd ** 2);
    }),
  );
  return { mean, sd: mean.map((m, j) => Math.sqrt(Math.max(square[j]! - m * m, 0))) };
}
