// What a chronicle holds, as the service and the report send it.

export interface ClusterEvent {
  kind: string;
  time: number;
  cluster: number;
  other?: number | null;
  [more: string]: unknown;
}

export interface SampledRows {
  places: [number, number][];
  labels: number[];
  scores?: (number | null)[];
}

export interface UnusualRow {
  score: number;
  label: number;
  values: (number | string | null)[];
}

export interface Moment {
  batch: number;
  time: number;
  n_points: number;
  ids: number[];
  weights: number[];
  counts: number[];
  born: number[];
  means?: (number | null)[][];
  deviations?: (number | null)[][];
  places?: [number, number][];
  spreads?: [number, number, number][];
  speeds?: (number | null)[];
  groups?: number[];
  score?: number[]; // the mean, then the quantiles
  rows?: SampledRows;
  unusual?: UnusualRow[];
  events?: ClusterEvent[];
  words?: Record<string, Record<string, number>>[]; // likely categories, by column
}

export interface Chronicle {
  title?: string;
  next?: string;
  columns: string[];
  dates?: boolean; // whether times are seconds since 1970
  projection: { labels: [string, string] } | null;
  totals: { n_batches: number; n_points: number; events: Record<string, number> };
  events: ClusterEvent[];
  events_left_out: number;
  moments: Moment[];
}

export const QUANTILES = [0.05, 0.25, 0.5, 0.75, 0.95, 1];
