// What works now, a job or a mission: each of its events brings the part of the page up to date; the line shows how it is.
import { show } from "./state.js";

let source = null;
let address = "";
let line = ["idle", "Connecting"];
let due = 0;

function follow() {
  const part = document.querySelector("[data-live]");
  if (part && part.dataset.live !== address) listen(part.dataset.live, part.dataset.after ?? "");
  paint();
}

/** Follow the events at *from* behind the one numbered *after*; one that comes back says itself what it has seen. */
function listen(from, after) {
  source?.close();
  address = from;
  source = new EventSource(after ? `${from}?after=${after}` : from);
  source.onopen = () => set("live", "Live");
  source.onerror = () => (source.readyState === EventSource.CLOSED ? set("idle", "Stopped") : set("warn", "Reconnecting"));
  source.addEventListener("progress", refresh);
  source.addEventListener("entry", refresh);
  source.addEventListener("state", (event) => {
    if (/^(done|failed|cancelled)$/.test(JSON.parse(event.data).state)) end();
    refresh();
  });
  source.addEventListener("mission", () => {
    end();
    refresh();
  });
}

function end() {
  source.close();
  set("idle", "Stopped");
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
