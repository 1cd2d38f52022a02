// The run so far and every batch from then on; after a break it goes on where it was.

import type { Chronicle, Moment } from "./chronicle";
import type { Store } from "./store";

export async function follow(store: Store): Promise<void> {
  let next = await load(store);
  const open = () => {
    const source = new EventSource(`api/updates?after=${encodeURIComponent(next)}`);
    source.onopen = () => store.setStatus("live");
    source.onmessage = (event) => {
      next = event.lastEventId;
      store.setStatus("live");
      store.add(JSON.parse(event.data as string) as Moment);
    };
    source.addEventListener("reload", () => {
      source.close();
      void load(store).then((name) => {
        next = name;
        open();
      });
    });
    source.onerror = () => {
      store.setStatus("waiting");
      if (source.readyState !== EventSource.CLOSED) return; // the browser tries again by itself
      setTimeout(open, 1000);
    };
  };
  open();
}

async function load(store: Store): Promise<string> {
  for (let pause = 500; ; pause = Math.min(2 * pause, 8000)) {
    try {
      const answer = await fetch("api/chronicle");
      if (answer.ok) {
        const whole = (await answer.json()) as Chronicle;
        store.load(whole);
        return whole.next ?? "";
      }
    } catch {
      // the service is not there: try again
    }
    store.setStatus("waiting");
    await new Promise((done) => setTimeout(done, pause));
  }
}
