/** Transforms a stream of server-sent events into another text. */

/** True if an answer is an event stream: the answer to a dry run never is. */
export const isStream = (answer: Response): answer is Response & { body: ReadableStream<Uint8Array> } =>
  answer.body !== null && (answer.headers.get("content-type") ?? "").startsWith("text/event-stream");

/** Replaces each event that has one data line by the text that `onData` returns. Comments, which keep connections alive, are passed on. */
export function translateEvents(onData: (data: string) => string): TransformStream<Uint8Array, Uint8Array> {
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  let rest = "";
  const translate = (line: string) => {
    if (line.startsWith("data:")) return onData(line.slice(5).trim());
    return line.startsWith(":") ? `${line}\n\n` : "";
  };
  return new TransformStream({
    transform(bytes, controller) {
      const lines = (rest + decoder.decode(bytes, { stream: true })).split(/\r?\n/);
      rest = lines.pop() ?? "";
      const text = lines.map(translate).join("");
      if (text) controller.enqueue(encoder.encode(text));
    },
    flush(controller) {
      controller.enqueue(encoder.encode(translate(rest)));
    },
  });
}
