// The page: it shows a run, live from the service or whole from a report.

import type { Chronicle } from "./chronicle";
import { Chart, clusterCount, river, unusual } from "./charts";
import { restyle } from "./colors";
import { offerTable } from "./csv";
import { showDetail } from "./detail";
import { byId } from "./dom";
import { showEvents } from "./events";
import { follow } from "./feed";
import { ClusterMap } from "./map";
import * as panels from "./panels";
import { Store } from "./store";
import { Timeline } from "./timeline";

function start(): void {
  restyle();
  const store = new Store();
  const map = new ClusterMap(byId<HTMLCanvasElement>("map"), byId("tip"), store);
  const timeline = new Timeline(byId<HTMLCanvasElement>("ticks"), store);
  const charts = [
    new Chart(byId("river"), store, river, [0, 1]),
    new Chart(byId("count"), store, clusterCount, [0, null]),
    new Chart(byId("scores"), store, unusual, [null, null]),
  ];
  const show = () => {
    document.body.classList.toggle("empty", store.moments.length === 0);
    panels.showNumbers(store);
    panels.showClusters(store);
    panels.showUnusual(store);
    showDetail(store);
    showEvents(store);
    map.update();
    timeline.update();
    for (const chart of charts) chart.update();
  };
  let waiting = false;
  store.onChange(() => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      show();
    });
  });
  controls(store, () => {
    restyle();
    show();
    timeline.draw();
    for (const chart of charts) chart.rebuild();
  });
  offerTable(store);
  Object.assign(window, { scstream: { store, map } });
  const held = document.getElementById("chronicle");
  if (held) {
    store.load(JSON.parse(held.textContent ?? "") as Chronicle);
    store.setStatus("ended");
  } else {
    void follow(store);
  }
}

function controls(store: Store, restyled: () => void): void {
  byId("pause").addEventListener("click", () => (store.following ? store.pause() : store.follow()));
  byId("replay").addEventListener("click", () => store.replay());
  const scrub = byId<HTMLInputElement>("scrub");
  scrub.addEventListener("input", () => store.goTo(Number(scrub.value)));
  const search = byId<HTMLInputElement>("search");
  search.addEventListener("input", () => {
    const id = Number(search.value.trim());
    const known = search.value.trim() !== "" && store.current?.ids.includes(id);
    store.select(known ? id : null); // and the list shows those with the word
  });
  byId("theme").addEventListener("click", () => {
    const root = document.documentElement;
    const dark = root.dataset.theme
      ? root.dataset.theme === "dark"
      : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    restyled();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", restyled);
  window.addEventListener("beforeprint", restyled);
  document.addEventListener("keydown", (event) => {
    const typing = event.target instanceof HTMLInputElement;
    if (event.key === "Escape") (document.activeElement as HTMLElement | null)?.blur();
    else if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    if (store.single && [" ", "r", "m", "ArrowLeft", "ArrowRight"].includes(event.key)) return;
    if (event.key === "ArrowLeft") store.step(-1);
    else if (event.key === "ArrowRight") store.step(1);
    else if (event.key === "Escape") store.select(null);
    else if (event.key === "/") byId("search").focus();
    else if (event.key === "r") store.replay();
    else if (event.key === "m") store.openMoment();
    else if (event.key === " " && !(event.target instanceof HTMLButtonElement)) {
      if (store.following) store.pause();
      else store.follow();
    } else return;
    event.preventDefault();
  });
}

start();
