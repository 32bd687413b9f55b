/** Converts an upstream's event stream to the events for the caller. Pure. */

import { ChatMeter, type Fields, parseFields, throwStated, toChoices, toCreated, toUnclear, toUsageReport } from "./answer.ts";

/** Maximum characters of an event: some upstreams send a whole answer in one. */
const maxEvent = 8 * 1024 * 1024;

/** The caller's id and model name, and whether usage is included. */
interface Shown {
  id: string;
  model: string;
  /** True if the caller requested the usage chunk; otherwise it is removed. */
  wantsUsage: boolean;
}

/** Converts an upstream's events to the caller's. Why it has a line parser of its own: `docs/dependencies.md`, at `eventsource-parser`. */
export class EventTranslator {
  readonly meter = new ChatMeter();
  /** True once the upstream reported that the answer is complete. Some end the stream without `[DONE]`, after a `finish_reason`. */
  isDone = false;
  #isFinished = false;
  fault: unknown;
  readonly #shown: Shown;
  readonly #decoder = new TextDecoder();
  #head = "";
  /** The incomplete last line. */
  #rest = "";
  /** The data lines of the incomplete event, each followed by a line end. */
  #data = "";
  /** True if the text is no stream but one JSON object: a whole answer, or the error of a gateway in front of the maker. */
  #isWhole = false;
  /** How many tool calls came without an index, which some upstreams leave out. */
  #calls = 0;

  constructor(shown: Shown) {
    this.#shown = shown;
  }

  /** The events in a part of the stream, or, without bytes, at its end. Stops at the end of the answer or the first fault. */
  push(bytes: Uint8Array | undefined): string {
    let out = "";
    const text = bytes ? this.#decoder.decode(bytes, { stream: true }) : `${this.#decoder.decode()}\n\n`;
    let from = 0;
    try {
      for (let end = text.indexOf("\n"); end !== -1 && !this.isDone; from = end + 1, end = text.indexOf("\n", from)) {
        out += this.#line(this.#rest + text.slice(from, end));
        this.#rest = "";
      }
      this.#rest += text.slice(from);
      if (!bytes && this.#isWhole) {
        out += this.#take(parseFields(this.#data));
        this.isDone = true;
      }
      this.isDone ||= !bytes && this.#isFinished;
      if (this.#rest.length + this.#data.length > maxEvent) throw toUnclear("too long an event");
    } catch (error) {
      this.fault = error;
    }
    return out;
  }

  #line(line: string): string {
    this.#isWhole ||= !this.meter.hasBegun && this.#data === "" && line.startsWith("{");
    if (this.#isWhole) {
      this.#data += line;
      return "";
    }
    // Comments keep connections alive; their text is the upstream's and is not passed on.
    if (line.startsWith(":")) return ":\n\n";
    if (line.startsWith("data:")) this.#data += `\n${line.slice(5)}`;
    // An event ends with an empty line. Its other fields, such as `event` and `id`, have no meaning in chats.
    if (line !== "" && line !== "\r") return "";
    const data = this.#data.trim();
    this.#data = "";
    if (data === "") return "";
    if (data === "[DONE]") {
      this.isDone = true;
      return "";
    }
    return this.#take(parseFields(data));
  }

  #take(chunk: Fields): string {
    this.meter.add(chunk, "delta");
    throwStated(chunk);
    return this.#event(chunk);
  }

  #event({ choices, usage, created }: Fields): string {
    const { id, model, wantsUsage } = this.#shown;
    const made = Array.isArray(choices) ? toChoices(choices, "delta") : [];
    for (const { delta, finish_reason } of made) {
      this.#isFinished ||= finish_reason !== null;
      const calls: unknown = delta?.["tool_calls"];
      // The parts of a call that follow its first one have no id.
      for (const call of (Array.isArray(calls) ? calls : []) as (Fields | undefined)[])
        if (call) call["index"] ??= call["id"] ? this.#calls++ : Math.max(0, this.#calls - 1);
    }
    if (made.length === 0 && !(wantsUsage && usage)) return "";
    this.#head ||= `data: {"id":${JSON.stringify(id)},"object":"chat.completion.chunk","created":${toCreated(created)},"model":${JSON.stringify(model)},"choices":`;
    const report = wantsUsage ? `,"usage":${JSON.stringify(toUsageReport(usage) ?? null)}` : "";
    return `${this.#head}${JSON.stringify(made)}${report}}\n\n`;
  }
}
