// Which clusters have moved far: a cluster is told of when it is far from where it was told of last.

import type { ClusterEvent, Moment } from "./chronicle";

const FAR = 3; // standard deviations of the cluster

export class Drift {
  private told = new Map<number, number[]>(); // where each cluster was when it was told of

  // The clusters that are far away by now, as events.
  after(moment: Moment): ClusterEvent[] {
    const { means, deviations, ids, time } = moment;
    if (!means || !deviations) return [];
    const found: ClusterEvent[] = [];
    const known = this.told;
    this.told = new Map();
    ids.forEach((cluster, i) => {
      const here = means[i]!.map((value) => value ?? NaN);
      const before = known.get(cluster);
      const far = before ? distance(before, here, deviations[i]!) : 0;
      if (far >= FAR) found.push({ kind: "drift", time, cluster, distance: far });
      this.told.set(cluster, before && !(far >= FAR) ? before : here);
    });
    return found;
  }
}

function distance(a: number[], b: number[], unit: (number | null)[]): number {
  const parts = a.map((value, j) => (b[j]! - value) / (unit[j] || Infinity)).filter(Number.isFinite);
  return Math.hypot(...parts);
}
