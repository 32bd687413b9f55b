// Reads the streams of both chat pages: their scripts follow this one.

/** Each event of a stream. @param {ReadableStream<Uint8Array>} body */
globalThis.eventsIn = async function* (body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    const events = (rest + read.value).split("\n\n");
    rest = events.pop() ?? "";
    for (const event of events) yield JSON.parse(event.slice("data: ".length));
  }
};
