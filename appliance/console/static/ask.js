// Ask: the evidence card first, then the model's reading as it comes. All that arrives is text, never markup.
import { events } from "./events.js";
import { answer, blank, fault, fill, state } from "./card.js";

const form = document.getElementById("ask");
const question = document.getElementById("question");
const stop = document.getElementById("stop");
const go = form.querySelector("button[type=submit]");
let running = null;

form.addEventListener("submit", (event) => {
  event.preventDefault();
  if (question.value.trim()) ask(question.value.trim());
});

question.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  form.requestSubmit();
});

stop.addEventListener("click", () => running?.abort());
document.addEventListener("keydown", (event) => event.key === "Escape" && running?.abort());

const repo = document.getElementById("repo");
const asked = new URLSearchParams(location.search);
if (asked.get("q")) ask(asked.get("q"));

async function ask(text) {
  running?.abort();
  const control = new AbortController();
  running = control;
  question.value = text;
  history.replaceState(null, "", address(text));
  blank();
  busy(true);
  const began = performance.now();
  const clock = setInterval(() => state("live", `${word} ${((performance.now() - began) / 1000).toFixed(1)} s`), 100);
  let word = "Searching";
  let ended = false;
  try {
    const response = await fetch("/api/v1/ask", {
      method: "POST",
      headers: { "Content-Type": "application/json", Accept: "text/event-stream" },
      body: JSON.stringify({ question: text, ...scope() }),
      signal: control.signal,
    });
    if (!response.ok) throw await problem(response);
    for await (const { type, data } of events(response)) {
      if (running !== control) return;
      if (type === "error") throw data;
      if (type === "evidence") word = "Reading";
      ended ||= type === "done";
      fill(type, data);
    }
    if (!ended) throw { detail: "The answer broke off before its end.", remedy: "Ask again; the evidence above stands.", code: "engine_unavailable" };
    clearInterval(clock);
    state("good", `Done in ${((performance.now() - began) / 1000).toFixed(1)} s`);
  } catch (error) {
    clearInterval(clock);
    if (running !== control) return;
    if (control.signal.aborted) {
      state("idle", "Stopped");
      answer.stopped();
    } else {
      state("bad", "Failed");
      fault(error);
    }
  } finally {
    clearInterval(clock);
    if (running === control) {
      running = null;
      busy(false);
    }
  }
}

function busy(yes) {
  stop.hidden = !yes;
  go.disabled = yes;
}

/** What is chosen: a repository within its own project, perhaps at a branch, or all of a project. */
function scope() {
  const { project, repo: one, branch } = repo.selectedOptions[0].dataset;
  return { project, ...(one && { repos: [one] }), ...(branch && { branches: [branch] }) };
}

function address(text) {
  const query = new URLSearchParams({ q: text });
  if (repo.value) query.set("repo", repo.value);
  return `/ask?${query}`;
}

/** The API's problem document; a broken one still says what happened. */
async function problem(response) {
  if (response.status === 401) location.assign(`/login?next=${encodeURIComponent(location.pathname + location.search)}`);
  const known = await response.json().catch(() => ({}));
  return { detail: `The appliance answered ${response.status}.`, code: String(response.status), ...known };
}
