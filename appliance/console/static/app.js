// What every page does with script: the theme switch, the keys, Enter in the question field.
const root = document.documentElement;
const dark = () =>
  root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;

const actions = {
  theme() {
    const next = dark() ? "light" : "dark";
    root.dataset.theme = next;
    localStorage.setItem("theme", next);
  },
  keys() {
    document.getElementById("keys")?.showModal();
  },
};

for (const button of document.querySelectorAll("[data-act]")) {
  button.hidden = false;
  button.addEventListener("click", () => actions[button.dataset.act]());
}

const places = { a: "/ask", s: "/search", m: "/missions", r: "/repos", t: "/status" };
let wentAt = 0;

const typing = (target) =>
  target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && typing(event.target)) event.target.blur();
  if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
  if (document.querySelector("dialog[open]")) return;
  if (event.timeStamp - wentAt < 1500 && places[event.key]) {
    event.preventDefault();
    location.assign(places[event.key]);
    return;
  }
  wentAt = event.key === "g" ? event.timeStamp : 0;
  if (event.key === "/") {
    event.preventDefault();
    const field = document.querySelector("[data-focus]");
    if (field) field.focus();
    else location.assign("/search");
  }
  if (event.key === "?") actions.keys();
});

// The session's cookie is Secure: a browser drops it unless the page came by TLS, or from this very machine.
const insecure = document.getElementById("insecure");
if (insecure) insecure.hidden = isSecureContext;

// A search that fails says why in the place of its results.
document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  if (detail.isError && detail.target.id === "results" && detail.serverResponse.includes('id="results"')) detail.shouldSwap = true;
});

// A citation and its entry in the panel light up together.
const light = (event, on) => {
  const n = event.target instanceof Element && event.target.closest("[data-n]")?.dataset.n;
  if (!n) return;
  for (const other of document.querySelectorAll(`[data-n="${CSS.escape(n)}"]`)) other.classList.toggle("lit", on);
};
document.addEventListener("mouseover", (event) => light(event, true));
document.addEventListener("mouseout", (event) => light(event, false));
