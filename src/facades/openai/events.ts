/** Transforms a stream of server-sent events into another text. */

/** True if an answer is an event stream: the answer to a dry run never is. */
export const isStream = (answer: Response): answer is Response & { body: ReadableStream<Uint8Array> } =>
  answer.body !== null && (answer.headers.get("content-type") ?? "").startsWith("text/event-stream");

/** Replaces each event that has one data line by the text that `onData` returns. Comments, which keep connections alive, are passed on. */
export function translateEvents(onData: (data: string) => string | Promise<string>): TransformStream<Uint8Array, Uint8Array> {
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  let rest = "";
  const translate = (line: string): string | Promise<string> => {
    if (line.startsWith("data:")) return onData(line.slice(5).trim());
    return line.startsWith(":") ? `${line}\n\n` : "";
  };
  return new TransformStream({
    async transform(bytes, controller) {
      const lines = (rest + decoder.decode(bytes, { stream: true })).split(/\r?\n/);
      rest = lines.pop() ?? "";
      let text = "";
      for (const line of lines) text += await translate(line);
      if (text) controller.enqueue(encoder.encode(text));
    },
    async flush(controller) {
      controller.enqueue(encoder.encode(await translate(rest)));
    },
  });
}
