// Means and spreads over all clusters of a moment.

import type { Moment } from "./chronicle";

export interface Overall {
  mean: number[];
  sd: number[]; // of all rows: between clusters and within them
}

export function overall(moment: Moment): Overall | null {
  if (!moment.means) return null;
  const d = moment.means[0]?.length ?? 0;
  const mean = new Array<number>(d).fill(0);
  const square = new Array<number>(d).fill(0);
  const total = moment.weights.reduce((a, b) => a + b, 0) || 1;
  moment.means.forEach((row, i) =>
    row.forEach((value, j) => {
      const w = moment.weights[i]! / total;
      const sd = moment.deviations?.[i]?.[j] ?? 0;
      mean[j] = mean[j]! + w * (value ?? 0);
      square[j] = square[j]! + w * ((value ?? 0) ** 2 + sd ** 2);
    }),
  );
  return { mean, sd: mean.map((m, j) => Math.sqrt(Math.max(square[j]! - m * m, 0))) };
}
