// Asks on both chat pages, whose scripts follow this one: shows an answer as it arrives, and says what the Stop button does.

/** Ends the answer that arrives, or keeps what a lost connection has cut off. @type {(() => void) | undefined} */
let stop;
let isRunning = false;

/** Each event of a stream. @param {ReadableStream<Uint8Array>} body */
async function* eventsIn(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    const events = (rest + read.value).split("\n\n");
    rest = events.pop() ?? "";
    for (const event of events) yield JSON.parse(event.slice("data: ".length));
  }
}

/** Tells the page's script that the gateway does not answer, or answers again. @param {string} name */
const report = (name) => document.dispatchEvent(new CustomEvent(name, { detail: { ctx: {} } }));

/**
 * Sends a question. The page shows the whole answer of a refusal, or each event; `keep` stores what has arrived of an answer that was stopped.
 * If the connection is lost, what has arrived stays on the page, and the Stop button keeps it as soon as the gateway answers again.
 * @param {(signal: AbortSignal) => Promise<Response>} post
 * @param {{ whole: (response: Response) => unknown, event: (event: any) => unknown, keep: () => Promise<unknown> }} page
 */
globalThis.converse = async (post, { whole, event, keep }) => {
  if (isRunning) return;
  isRunning = true;
  const controller = new AbortController();
  const keepNow = () =>
    keep().then(
      () => report("htmx:after:request"),
      () => report("htmx:error"),
    );
  stop = () => controller.abort();
  try {
    const response = await post(controller.signal);
    if (!response.headers.get("content-type")?.startsWith("text/event-stream") || !response.body) return await whole(response);
    for await (const one of eventsIn(response.body)) await event(one);
    // The last event replaces the button.
    if (document.getElementById("stop")) throw new Error("the answer broke off");
  } catch (error) {
    if (controller.signal.aborted) return await keepNow();
    report("htmx:error");
    stop = () => void keepNow();
    throw error;
  } finally {
    isRunning = false;
  }
};

document.addEventListener("click", ({ target }) => {
  if (target instanceof Element && target.closest("#stop")) stop?.();
});
