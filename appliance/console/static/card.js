// The answer on the page. It fills the slots that the server wrote; the server fills the same ones without script.
import { show } from "./state.js";

const root = document.getElementById("answer");
const slot = (name, within = root) => within.querySelector(`[data-slot="${name}"]`);
const put = (name, text, within = root) => {
  const place = slot(name, within);
  if (place) place.textContent = text;
};
const clone = (id) => document.getElementById(id).content.firstElementChild.cloneNode(true);
const hrefs = new Map();

export const answer = {
  stopped() {
    slot("draft")?.remove();
    if (!slot("prose").childElementCount) aside("Stopped before the model had read. The evidence stands.");
  },
};

/** Make the card ready for a new question. */
export function blank() {
  document.getElementById("start")?.remove();
  document.getElementById("problem").hidden = true;
  root.hidden = false;
  for (const name of ["evidence", "index", "prose", "struck", "warnings", "timings"]) slot(name).replaceChildren();
  slot("warnings-note").hidden = true;
  for (const name of ["scope", "caveat", "made", "count"]) put(name, "");
  put("label", "The model's reading");
  slot("reading").classList.remove("spoken");
  hrefs.clear();
}

/** Show how the answer is. */
export const state = (mood, word) => show(slot("state"), mood, word);

/** What happened, the next step, the code. */
export function fault(error) {
  slot("draft")?.remove();
  const place = document.getElementById("problem");
  say(slot("message", place), error.detail ?? "The appliance cannot be reached.");
  say(slot("remedy", place), error.remedy ?? (error.code ? "" : "Is it running? `skellig status` says so."));
  put("code", error.code ?? "unreachable", place);
  place.hidden = false;
  if (!slot("evidence").childElementCount) root.hidden = true;
}

/** Take one event of the stream. */
export function fill(type, data) {
  if (type === "evidence") evidence(data);
  if (type === "token") draft(data.text);
  if (type === "sentence") sentence(data);
  if (type === "struck") struck(data);
  if (type === "done") done(data);
}

function evidence(data) {
  slot("evidence").replaceChildren(...data.evidence.map(item));
  slot("index").replaceChildren(...data.evidence.map(entry));
  data.evidence.forEach(colour);
  if (data.kind === "structure") name(data.kind);
  const checked = data.evidence.filter((one) => one.verified).length;
  put("count", `${checked} of ${data.evidence.length} verified at their commit`);
  put("scope", data.freshness.map(freshness).join(" · "));
  warnings(data.warnings);
  timings(data.timings);
}

function item(one) {
  const li = clone("evidence-item");
  const href = address(one);
  hrefs.set(one.n, href);
  li.id = `e${one.n}`;
  li.dataset.n = one.n;
  put("n", `[${one.n}]`, li);
  slot("path", li).href = href;
  const cut = one.path.lastIndexOf("/") + 1;
  put("folder", one.path.slice(0, cut), li);
  put("name", one.path.slice(cut), li);
  put("lines-label", `:${one.start_line}–${one.end_line}`, li);
  put("commit", `${one.repo_name}@${one.commit.slice(0, 10)}`, li);
  slot("commit", li).title = one.commit;
  slot("symbol-chip", li).hidden = !one.symbol;
  put("symbol", one.symbol, li);
  put("kind", one.kind, li);
  slot("verified", li).hidden = !one.verified;
  slot("unverified", li).hidden = one.verified;
  slot("lines", li).replaceChildren(...lines(one));
  return li;
}

/** Take the same lines from the server, coloured; until then, or without, they stand plain. */
async function colour(one) {
  const response = await fetch(hrefs.get(one.n).replace("/file?", "/lines?")).catch(() => null);
  const place = document.getElementById(`e${one.n}`);
  if (!response?.ok || !place) return;
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  const coloured = page.querySelectorAll("li");
  if (coloured.length && slot("lines", place).childElementCount === coloured.length) slot("lines", place).replaceChildren(...coloured);
}

function lines(one) {
  return one.text.replace(/\n$/, "").split("\n").map((text, i) => {
    const li = document.createElement("li");
    const number = document.createElement("span");
    number.textContent = one.start_line + i;
    const code = document.createElement("code");
    code.textContent = visible(text);
    li.append(number, code);
    return li;
  });
}

/** What could hide or reorder text, written as an escape. */
const visible = (text) => text.replace(/[^\P{C}\t]/gu, (c) => `\\u{${c.codePointAt(0).toString(16)}}`);

function entry(one) {
  const li = clone("index-item");
  const a = li.firstElementChild;
  a.href = `#e${one.n}`;
  a.dataset.n = one.n;
  put("n", `[${one.n}]`, li);
  put("name", one.path.slice(one.path.lastIndexOf("/") + 1), li);
  put("lines-short", `${one.start_line}–${one.end_line}`, li);
  put("symbol-line", one.symbol, li);
  slot("symbol-line", li).hidden = !one.symbol;
  return li;
}

function draft(text) {
  let place = slot("draft");
  if (!place) {
    place = document.createElement("p");
    place.dataset.slot = "draft";
    place.className = "draft";
    slot("prose").append(place);
  }
  place.dataset.text = (place.dataset.text ?? "") + text;
  say(place, place.dataset.text);
}

function sentence(data) {
  slot("draft")?.remove();
  const p = document.createElement("p");
  say(p, data.text);
  for (const n of data.cites) {
    const a = document.createElement("a");
    a.className = "cite";
    a.href = hrefs.get(n) ?? `#e${n}`;
    a.dataset.n = n;
    a.textContent = `[${n}]`;
    p.append(a);
  }
  slot("prose").append(p);
  slot("reading").classList.add("spoken");
}

/** Call the reading what an answer of *kind* is called, and return its words. */
function name(kind) {
  const words = document.getElementById(`words-${kind}`).dataset;
  put("label", words.label);
  put("caveat", words.caveat);
  return words;
}

function silence(words, gate) {
  if (!gate || gate.passed) return words.silence;
  return `No prose: ${gate.reason}`;
}

/** Make *text* all that *place* holds, its backquoted names as code; text nodes only. */
function say(place, text) {
  const parts = text.split("`");
  const whole = parts.length % 2 === 0 ? [text] : parts.map((part, i) => (i % 2 ? coded(part) : part));
  place.replaceChildren(...whole);
}

function coded(text) {
  const code = document.createElement("code");
  code.textContent = text;
  return code;
}

function struck(data) {
  slot("draft")?.remove();
  const li = clone("struck-item");
  say(slot("text", li), data.text);
  say(slot("reason", li), data.reason);
  slot("struck").append(li);
}

function done(data) {
  slot("draft")?.remove();
  slot("prose").replaceChildren();
  slot("struck").replaceChildren();
  data.sentences.forEach(sentence);
  data.struck.forEach(struck);
  const words = name(data.kind);
  put("made", [data.model, data.timings.total_ms === undefined ? "" : spent(data.timings.total_ms)].filter(Boolean).join(" · "));
  if (!data.sentences.length) aside(silence(words, data.gate));
  warnings(data.warnings);
  timings(data.timings);
}

function aside(text) {
  const p = document.createElement("p");
  p.className = "muted";
  say(p, text);
  slot("prose").append(p);
}

function warnings(texts) {
  slot("warnings-note").hidden = !texts.length;
  slot("warnings").replaceChildren(
    ...texts.map((text) => {
      const li = document.createElement("li");
      say(li, text);
      return li;
    }),
  );
}

function timings(steps) {
  slot("timings").replaceChildren(
    ...Object.entries(steps).flatMap(([step, took]) => {
      const dt = document.createElement("dt");
      const dd = document.createElement("dd");
      dt.textContent = step.replace(/_ms$/, "").replaceAll("_", " ");
      dd.textContent = spent(took);
      return [dt, dd];
    }),
  );
}

const spent = (ms) =>
  ms < 10 ? `${ms.toFixed(1)} ms` : ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;

const freshness = (one) =>
  `${one.repo_name} at ${one.branch || "HEAD"} ${one.commit.slice(0, 10)}, ` +
  (one.behind === null ? "source not readable" : one.behind ? `${one.behind} commit${one.behind === 1 ? "" : "s"} behind` : "index current") +
  (one.dirty === null ? ", maybe changes that no commit has" : one.dirty ? ", changes that no commit has" : "");

/** The console's page for the lines that the API's *href* names: the bytes of the path survive in its query. */
function address(one) {
  return `/file?repo=${encodeURIComponent(one.repo)}&${one.href.split("?")[1]}#L${one.start_line}`;
}
