// The run as the page knows it, and what its reader looks at.

import type { Chronicle, ClusterEvent, Moment } from "./chronicle";
import { meet } from "./colors";
import { Drift } from "./drift";
import { showDates } from "./format";
import { Plane } from "./plane";

const MOST_MOMENTS = 2000;
const MOST_EVENTS = 2000;
const MOST_DRIFTS = 500; // the latest
const REPLAY = 20_000; // milliseconds that a whole run takes, if it has moments enough
const STEP = 140; // milliseconds of a step of it

export type Status = "live" | "waiting" | "ended";

// Clusters that are parts of one whole.
export interface Whole {
  id: number;
  places: number[]; // of its clusters, the largest first
  share: number;
  says: string;
}
type Listener = () => void;

export class Store {
  columns: string[] = [];
  fields: string[] = [];
  plane = new Plane();
  title = "";
  moments: Moment[] = [];
  events: ClusterEvent[] = [];
  eventsLeftOut = 0;
  drifts: ClusterEvent[] = []; // of clusters that have moved far
  batches = 0;
  rows = 0;
  rowsPerSecond = 0;
  status: Status = "waiting";
  selected: number | null = null; // the cluster whose detail is shown
  momentOpen = false; // or that of the moment
  hovered: number | null = null;
  private unfolded = new Set<number>(); // groups whose clusters are listed
  private drift = new Drift();
  private playing = 0; // the timer of a replay
  private at = -1; // the moment that is looked at; -1 for the latest
  private arrivals: { when: number; rows: number }[] = [];
  private listeners: Listener[] = [];

  onChange(listener: Listener): void {
    this.listeners.push(listener);
  }

  private changed(): void {
    for (const listener of this.listeners) listener();
  }

  load(whole: Chronicle): void {
    const seen = this.current?.batch;
    this.columns = whole.columns;
    this.fields = whole.fields;
    showDates(whole.dates === true);
    this.plane = new Plane(whole.projection, whole.moments[0]);
    this.title = whole.title ?? "";
    this.moments = whole.moments;
    this.drift = new Drift();
    this.drifts = [];
    for (const moment of this.moments) this.know(moment);
    this.events = whole.events;
    this.eventsLeftOut = whole.events_left_out;
    this.batches = whole.totals.n_batches;
    this.rows = whole.totals.n_points;
    this.at = this.following || seen === undefined ? -1 : this.nearest(seen);
    this.changed();
  }

  add(moment: Moment): void {
    const last = this.moments.at(-1);
    if (last && moment.batch <= last.batch) return;
    this.know(moment);
    this.moments.push(moment);
    this.batches += moment.n_batches ?? 1;
    this.rows += moment.n_points;
    this.events.push(...(moment.events ?? []));
    if (this.events.length > MOST_EVENTS) {
      const over = this.events.length - MOST_EVENTS;
      this.events.splice(MOST_EVENTS / 2, over);
      this.eventsLeftOut += over;
    }
    this.thin();
    this.measure(moment.n_points);
    this.changed();
  }

  // Bring it onto the map, give its clusters colours, and note which have moved far.
  private know(moment: Moment): void {
    this.plane.place(moment);
    meet(moment);
    this.drifts.push(...this.drift.after(moment));
    if (this.drifts.length > MOST_DRIFTS) this.drifts.splice(0, this.drifts.length - MOST_DRIFTS);
  }

  // All that happened, in order of time.
  get happenings(): ClusterEvent[] {
    return [...this.events, ...this.drifts].sort((a, b) => a.time - b.time);
  }

  // Beyond so many moments every second of the older half is left out.
  private thin(): void {
    if (this.moments.length <= MOST_MOMENTS) return;
    const seen = this.current;
    const half = this.moments.length >> 1;
    this.moments = this.moments.filter((_, i) => i >= half || i % 2 === 0);
    if (!this.following && seen) this.at = this.nearest(seen.batch);
  }

  private measure(rows: number): void {
    const now = performance.now();
    this.arrivals.push({ when: now, rows });
    while (this.arrivals.length > 2 && now - this.arrivals[0]!.when > 5000) this.arrivals.shift();
    const span = now - this.arrivals[0]!.when;
    const sum = this.arrivals.slice(1).reduce((total, a) => total + a.rows, 0);
    this.rowsPerSecond = span > 0 ? (1000 * sum) / span : 0;
  }

  setStatus(status: Status): void {
    if (status === this.status) return;
    this.status = status;
    this.changed();
  }

  // -- what the reader looks at ---------------------------------------------------------------

  get following(): boolean {
    return this.at < 0;
  }

  get index(): number {
    return this.at < 0 ? this.moments.length - 1 : Math.min(this.at, this.moments.length - 1);
  }

  get current(): Moment | undefined {
    return this.moments[this.index];
  }

  // Whether there is no stream to look back on.
  get single(): boolean {
    return this.moments.length < 2;
  }

  // The places of the clusters that are looked at, the largest first.
  order(): number[] {
    const { ids, weights } = this.current!;
    return ids.map((_, i) => i).sort((p, q) => weights[q]! - weights[p]!);
  }

  // The groups, the largest first; none where each is one cluster.
  wholes(): Whole[] {
    const { groups, group_says: says, weights } = this.current!;
    if (!groups || new Set(groups).size === groups.length) return [];
    const order = this.order();
    const found = [...new Set(groups)].sort((a, b) => a - b).map((id, at) => {
      const places = order.filter((i) => groups[i] === id);
      return { id, places, share: places.reduce((sum, i) => sum + weights[i]!, 0), says: says?.[at] ?? "" };
    });
    return found.sort((a, b) => b.share - a.share);
  }

  isOpen({ id, places }: Whole): boolean {
    return this.unfolded.has(id) || places.some((i) => this.current!.ids[i] === this.selected);
  }

  fold(id: number): void {
    if (!this.unfolded.delete(id)) this.unfolded.add(id);
    this.changed();
  }

  goTo(index: number): void {
    this.stop();
    this.show(index);
  }

  private show(index: number): void {
    this.at = Math.max(0, Math.min(index, this.moments.length - 1));
    this.changed();
  }

  step(by: number): void {
    const to = this.index + by;
    if (to >= this.moments.length - 1 && by > 0) this.follow();
    else this.goTo(to);
  }

  goToTime(time: number): void {
    let best = 0;
    this.moments.forEach((m, i) => {
      if (Math.abs(m.time - time) < Math.abs(this.moments[best]!.time - time)) best = i;
    });
    this.goTo(best);
  }

  follow(): void {
    this.stop();
    this.at = -1;
    this.changed();
  }

  pause(): void {
    this.goTo(this.index);
  }

  // -- replay ---------------------------------------------------------------------------------

  get replaying(): boolean {
    return this.playing !== 0;
  }

  // How long clusters glide from one moment to the next.
  get pace(): number {
    return this.replaying ? STEP : 450;
  }

  replay(): void {
    if (this.replaying) return this.pause();
    if (this.moments.length < 2) return;
    const by = Math.max(1, Math.round((this.moments.length * STEP) / REPLAY));
    const start = this.following || this.index === this.moments.length - 1 ? 0 : this.index;
    this.playing = window.setInterval(() => {
      const to = this.index + by;
      if (to < this.moments.length - 1) this.show(to);
      else this.follow();
    }, STEP);
    this.show(start);
  }

  private stop(): void {
    window.clearInterval(this.playing);
    this.playing = 0;
  }

  // -- details --------------------------------------------------------------------------------

  select(id: number | null): void {
    this.selected = id;
    this.momentOpen = false;
    this.changed();
  }

  openMoment(): void {
    this.selected = null;
    this.momentOpen = true;
    this.changed();
  }

  hover(id: number | null): void {
    if (id === this.hovered) return;
    this.hovered = id;
    this.changed();
  }

  private nearest(batch: number): number {
    const at = this.moments.findIndex((m) => m.batch >= batch);
    return at < 0 ? this.moments.length - 1 : at;
  }
}
