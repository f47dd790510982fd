// A job that runs: each of its events brings the part of the page up to date; the line itself shows how it is.
import { show } from "./state.js";

let source = null;
let job = "";
let line = ["idle", "Connecting"];
let due = 0;

function follow() {
  const part = document.querySelector("[data-job]");
  if (part && part.dataset.job !== job) listen(part.dataset.job);
  paint();
}

function listen(id) {
  source?.close();
  job = id;
  source = new EventSource(`/api/v1/jobs/${encodeURIComponent(id)}/events`);
  source.onopen = () => set("live", "Live");
  source.onerror = () => (source.readyState === EventSource.CLOSED ? set("idle", "Stopped") : set("warn", "Reconnecting"));
  source.addEventListener("progress", refresh);
  source.addEventListener("state", (event) => {
    if (/^(done|failed|cancelled)$/.test(JSON.parse(event.data).state)) {
      source.close();
      set("idle", "Stopped");
    }
    refresh();
  });
}

/** Bring the part up to date, at most twice a second. */
function refresh() {
  if (due) return;
  due = setTimeout(() => {
    due = 0;
    htmx.trigger("#live", "refresh");
  }, 500);
}

function set(mood, word) {
  line = [mood, word];
  paint();
}

function paint() {
  const place = document.querySelector("[data-slot=line]");
  if (place) show(place, ...line);
}

document.addEventListener("htmx:afterSettle", follow);
addEventListener("pagehide", () => source?.close());
follow();
