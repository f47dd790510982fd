// Server-sent events from a fetch: EventSource can neither POST nor be told to stop politely.

/** Yield {type, data} for each event of *response*; data is parsed JSON. Ends when the stream does. */
export async function* events(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let pending = "";
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      pending = (pending + value).replaceAll("\r\n", "\n");
      const blocks = pending.split("\n\n");
      pending = blocks.pop();
      for (const block of blocks) {
        const event = parse(block);
        if (event) yield event;
      }
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

function parse(block) {
  let type = "message";
  const data = [];
  for (const line of block.split("\n")) {
    if (line.startsWith("event:")) type = line.slice(6).trim();
    if (line.startsWith("data:")) data.push(line.slice(5).replace(/^ /, ""));
  }
  return data.length ? { type, data: JSON.parse(data.join("\n")) } : null;
}
