/** Server-sent events, as chats are streamed. */

/** Yields the data of server-sent events with one data line each, as in OpenAI's streams. */
export function eventData(): TransformStream<string, string> {
  let rest = "";
  return new TransformStream({
    transform(chunk, controller) {
      const parts = (rest + chunk).split(/\r?\n/);
      rest = parts.pop() ?? "";
      for (const part of parts) if (part.startsWith("data:")) controller.enqueue(part.slice(5).trim());
    },
    flush(controller) {
      if (rest.startsWith("data:")) controller.enqueue(rest.slice(5).trim());
    },
  });
}
