/** Translates the lines of an upstream's event stream into the caller's events. Pure. */

import { ProviderError } from "../providers/provider.ts";
import { toStreamFault } from "../providers/shared/chat-errors.ts";
import { ChatMeter, type Fields, parseFields, toChoices, toCreated, toUsageReport } from "./chat-answer.ts";

/** Maximum characters per line. */
const maxLine = 32 * 1024 * 1024;

/** The caller's id and model name, and whether usage is included. */
interface Shown {
  id: string;
  model: string;
  /** True if the caller requested the usage chunk; otherwise it is removed. */
  wantsUsage: boolean;
}

/** Translates an upstream's event lines into the caller's events. */
export class EventTranslator {
  readonly meter = new ChatMeter();
  /** True once the upstream reported that the answer is complete. */
  isDone = false;
  fault: unknown;
  /** True if the fault was reported by the upstream, false for a broken stream. */
  isRefused = false;
  readonly #shown: Shown;
  readonly #decoder = new TextDecoder();
  #head = "";
  #rest = "";

  constructor(shown: Shown) {
    this.#shown = shown;
  }

  /** The events in some bytes of the stream, or in its end if there are no bytes. Stops at the end of the answer or the first fault. */
  push(bytes: Uint8Array | undefined): string {
    let out = "";
    const text = this.#rest + (bytes ? this.#decoder.decode(bytes, { stream: true }) : `${this.#decoder.decode()}\n`);
    let from = 0;
    try {
      for (let end = text.indexOf("\n"); end !== -1 && !this.isDone; from = end + 1, end = text.indexOf("\n", from))
        out += this.#line(text.slice(from, end));
      this.#rest = text.slice(from);
      if (this.#rest.length > maxLine) throw new ProviderError("unclear", "chat: too long an event");
    } catch (error) {
      this.fault = error;
    }
    return out;
  }

  #line(line: string): string {
    // Comments keep connections alive; their text is the upstream's and is not passed on.
    if (line.startsWith(":")) return ":\n\n";
    if (!line.startsWith("data:")) return "";
    const data = line.slice(5).trim();
    if (data === "") return "";
    if (data === "[DONE]") {
      this.isDone = true;
      return "";
    }
    const chunk = parseFields(data);
    this.meter.add(chunk, "delta");
    this.isRefused = Boolean(chunk["error"]);
    if (this.isRefused) throw toStreamFault(chunk["error"]);
    return this.#event(chunk);
  }

  #event({ choices, usage, created }: Fields): string {
    const { id, model, wantsUsage } = this.#shown;
    const made = Array.isArray(choices) ? toChoices(choices, "delta") : [];
    if (made.length === 0 && !(wantsUsage && usage)) return "";
    this.#head ||= `data: {"id":${JSON.stringify(id)},"object":"chat.completion.chunk","created":${toCreated(created)},"model":${JSON.stringify(model)},"choices":`;
    const report = wantsUsage ? `,"usage":${JSON.stringify((usage ? toUsageReport(usage) : null) ?? null)}` : "";
    return `${this.#head}${JSON.stringify(made)}${report}}\n\n`;
  }
}
