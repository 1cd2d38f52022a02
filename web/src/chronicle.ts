// What a chronicle holds, as the service and the report send it.

export interface ClusterEvent {
  kind: string;
  time: number;
  cluster: number | null;
  other?: number | null;
  column?: string; // of the kinds "widen" and "clock"
  was?: string;
  now?: string;
  [more: string]: unknown;
}

export interface SampledRows {
  places: [number, number][];
  labels: number[];
}

export interface KeptRow {
  score?: number;
  label: number;
  values: (number | string | null)[];
}

export interface Moment {
  batch: number;
  time: number;
  n_points: number;
  n_batches?: number; // of which it is the last; 1 where it is not said
  ids: number[];
  weights: number[];
  counts: number[];
  born: number[];
  means?: (number | null)[][];
  deviations?: (number | null)[][];
  lows?: (number | null)[][]; // where most values of a column begin
  highs?: (number | null)[][]; // and end
  places?: [number, number][];
  spreads?: [number, number, number][];
  speeds?: (number | null)[];
  groups?: number[];
  group_says?: string[]; // what makes each group different, the lowest id first
  score?: number[]; // the mean, then the quantiles 0, .05, .25, .5, .75 and .95
  rows?: SampledRows;
  unusual?: KeptRow[];
  examples?: KeptRow[];
  events?: ClusterEvent[];
  words?: Record<string, Record<string, number>>[]; // likely categories, by column
  says?: string[]; // what makes each cluster different
}

export interface Projection {
  center: number[];
  axes: number[][]; // what a unit of each column adds to the two coordinates
  labels: [string, string];
  unit: (number | null)[]; // of columns that are drawn as arcsinh(x / unit)
}

export interface Chronicle {
  title?: string;
  next?: string;
  columns: string[]; // of the means
  fields: string[]; // of rows that are kept whole
  dates?: boolean; // whether times are seconds since 1970
  projection: Projection | null;
  totals: { n_batches: number; n_points: number; events: Record<string, number> };
  events: ClusterEvent[];
  events_left_out: number;
  moments: Moment[];
}
