// A file that answers: a click on a name tells what it means, one on a number cites its line, with Shift up to it.
const file = document.getElementById("file");
const panel = document.getElementById("symbol");
const letters = /[\p{L}\p{N}_$]/u;

const at = (event) => {
  if (document.caretPositionFromPoint) {
    const caret = document.caretPositionFromPoint(event.clientX, event.clientY);
    return caret && [caret.offsetNode, caret.offset];
  }
  const range = document.caretRangeFromPoint?.(event.clientX, event.clientY);
  return range && [range.startContainer, range.startOffset];
};

// The name under the pointer, and the column of its first letter in its line, from 1.
const pointed = (event, code) => {
  const [node, offset] = at(event) ?? [];
  if (!node || !code.contains(node)) return null;
  const before = document.createRange();
  before.setStart(code, 0);
  before.setEnd(node, offset);
  const text = code.textContent;
  let start = before.toString().length;
  let end = start;
  while (start > 0 && letters.test(text[start - 1])) start -= 1;
  while (end < text.length && letters.test(text[end])) end += 1;
  return end > start ? { word: text.slice(start, end), column: start + 1 } : null;
};

const address = (line, word) =>
  "/symbol?" + new URLSearchParams({ repo: file.dataset.repo, path: file.dataset.path, line, word }).toString();

async function explain(href) {
  panel.setAttribute("aria-busy", "true");
  try {
    const answer = await fetch(href);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const found = page.getElementById("symbol") ?? page.querySelector(".note");
    panel.replaceChildren(...(found ? [found.id ? Object.assign(found, { id: "found" }) : found] : ["Nothing came back."]));
    draw(panel);
  } catch (error) {
    panel.replaceChildren(`The appliance does not answer: ${error.message}`);
  } finally {
    panel.removeAttribute("aria-busy");
  }
}

function cite(line, extend) {
  const query = new URLSearchParams(location.search);
  const first = extend ? Math.min(line, Number(query.get("start") ?? line)) : line;
  const last = extend ? Math.max(line, Number(query.get("start") ?? line)) : line;
  const here = new URLSearchParams({ repo: file.dataset.repo, path: file.dataset.path, commit: file.dataset.commit, start: first, end: last });
  location.assign(`/file?${here}#L${first}`);
}

file?.addEventListener("click", (event) => {
  const row = event.target.closest?.("li[id]");
  if (!row || !getSelection().isCollapsed) return;
  const line = Number(row.id.slice(1));
  if (event.target.closest("li > a")) {
    event.preventDefault();
    cite(line, event.shiftKey);
    return;
  }
  const code = row.querySelector("code");
  const name = pointed(event, code);
  if (name) explain(address(line, name.word));
});

// Callers in a column on the left, what is called on the right: the lists beside it say the same in words. The library would
// add a style sheet of its own, which the page's policy refuses, unless an element has the id of that: the canvas has it.
async function draw(place) {
  const canvas = place.querySelector(".graph");
  if (!canvas) return;
  const sides = ["callers", "callees"].map((side) => [...place.querySelectorAll(`[data-side="${side}"] a`)].slice(0, 14));
  const centre = { data: { id: "here", label: (canvas.closest("[data-name]") ?? place).dataset.name ?? "" }, position: { x: 0, y: 0 } };
  const elements = [centre];
  sides.forEach((links, side) =>
    links.forEach((link, number) => {
      const id = `${side}-${number}`;
      const label = link.querySelector(".word").textContent;
      const position = { x: side ? 230 : -230, y: (number - (links.length - 1) / 2) * 34 };
      elements.push({ data: { id, label, href: link.getAttribute("href") }, position });
      elements.push({ data: { id: `e-${id}`, source: side ? "here" : id, target: side ? id : "here" } });
    }),
  );
  const { default: cytoscape } = await import(canvas.dataset.library);
  const colour = (name) => getComputedStyle(canvas).getPropertyValue(name).trim();
  const resolved = (name) => {
    const probe = canvas.appendChild(document.createElement("span"));
    probe.style.color = `var(${name})`;
    const value = getComputedStyle(probe).color;
    probe.remove();
    return value || colour(name);
  };
  const wide = (node) => Math.min(200, 7 * node.data("label").length + 18);
  canvas.hidden = false;
  const graph = cytoscape({
    container: canvas,
    elements,
    layout: { name: "preset", fit: true, padding: 18 },
    userZoomingEnabled: false,
    autoungrabify: true,
    style: [
      {
        selector: "node",
        style: {
          label: "data(label)", shape: "round-rectangle", width: wide, height: 26, "font-size": 12,
          "text-valign": "center", "text-max-width": 190, "text-wrap": "ellipsis", color: resolved("--text"),
          "background-color": resolved("--sunk"), "border-width": 1, "border-color": resolved("--line-strong"),
        },
      },
      { selector: "#here", style: { "background-color": resolved("--accent"), color: resolved("--on-accent") } },
      {
        selector: "edge",
        style: {
          width: 1, "curve-style": "bezier", "target-arrow-shape": "triangle", "arrow-scale": 0.7,
          "line-color": resolved("--line-strong"), "target-arrow-color": resolved("--line-strong"),
        },
      },
    ],
  });
  graph.on("tap", "node[href]", (event) => location.assign(event.target.data("href")));
  canvas.dataset.drawn = String(graph.nodes().length);
}

if (!file && panel) draw(document);
