// The feed of events.

import type { ClusterEvent } from "./chronicle";
import { byId, make } from "./dom";
import * as format from "./format";
import type { Store } from "./store";

const LISTED = 100;

export function showEvents(store: Store): void {
  const box = byId("event-list");
  const { events, drifts, eventsLeftOut } = store;
  const last = [events, drifts].map((some) => `${some.length}/${some.at(-1)?.time ?? ""}`);
  const mark = `${last.join()}/${eventsLeftOut}`;
  if (box.dataset.mark === mark) return;
  box.dataset.mark = mark;
  const recent = store.happenings.slice(-LISTED).reverse();
  box.replaceChildren(recent.length ? eventList(store, recent) : make("p", "Nothing has happened yet."));
}

export function eventList(store: Store, events: ClusterEvent[]): HTMLElement {
  const list = make("ol", "", { class: "events" });
  for (const event of events) {
    const item = make("li");
    const kind = /^[a-z-]+$/.test(event.kind) ? event.kind : "";
    const button = make("button", "", { type: "button", class: `event ${kind}` });
    button.append(make("span", event.kind, { class: "kind" }), make("span", words(event)), make("time", format.time(event.time)));
    button.addEventListener("click", () => {
      store.goToTime(event.time);
      if (event.cluster === null || event.cluster === undefined) store.openMoment();
      else store.select(event.cluster);
    });
    item.append(button);
    list.append(item);
  }
  return list;
}

function words(event: ClusterEvent): string {
  const { kind, cluster, other } = event;
  if (event.column !== undefined) return `${event.column}: ${event.was} to ${event.now}`;
  if (kind === "drift") return `${cluster}, by ${Number(event.distance).toFixed(1)} sd`;
  if (kind.endsWith("split")) return `${other} from ${cluster}`;
  if (kind.endsWith("merge")) return `${other} into ${cluster}`;
  if (other === null || other === undefined) return String(cluster);
  return kind === "birth" ? `${cluster}, from ${other}` : kind === "death" ? `${cluster}, now part of ${other}` : `${cluster} (${other})`;
}
