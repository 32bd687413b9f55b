/** Builds a response's output items from a chat's answer, whole or in pieces, and the streaming events for them. */

import { type Fields, isFields } from "../form.ts";
import { type ChatTool, toToolName } from "./tools.ts";

/** An event without its `sequence_number`. */
export type Event = { type: string } & Fields;

const randomId = (prefix: string) => `${prefix}_${crypto.randomUUID().replaceAll("-", "")}`;

/** The kind of message part that a text belongs to, and the names of its events. */
const parts = {
  text: {
    part: (text: string) => ({ type: "output_text", annotations: [], logprobs: [], text }),
    event: "response.output_text",
    more: { logprobs: [] },
  },
  refusal: { part: (refusal: string) => ({ type: "refusal", refusal }), event: "response.refusal", more: {} },
  reasoning: { part: (text: string) => ({ type: "reasoning_text", text }), event: "response.reasoning_text", more: {} },
} as const;
type PartKind = keyof typeof parts;

type Open =
  | { kind: PartKind; item: Fields & { content: Fields[] }; text: string }
  | { kind: "call"; item: Fields; index: unknown; isCustom: boolean; text: string };

/** The items so far. Each method returns the events for its piece, in OpenAI's order. */
export class Output {
  readonly items: Fields[] = [];
  readonly #tools: ChatTool[];
  #open: Open | undefined;

  readonly #newId: (prefix: string) => string;

  /** `tools` are those of the chat: calls get back the names that the caller gave. */
  constructor(tools: ChatTool[], newId = randomId) {
    this.#tools = tools;
    this.#newId = newId;
  }

  /** A chat's `delta`, or the whole `message`. */
  add(delta: Fields): Event[] {
    const text = (name: string) => (typeof delta[name] === "string" ? delta[name] : "");
    const calls = Array.isArray(delta["tool_calls"]) ? delta["tool_calls"].filter(isFields) : [];
    return [
      ...this.#addText("reasoning", text("reasoning_content")),
      ...this.#addText("text", text("content")),
      ...this.#addText("refusal", text("refusal")),
      ...calls.flatMap((call, at) => this.#addCall(call, call["index"] ?? at)),
    ];
  }

  /** Ends the open item; call it last. `status` is "incomplete" if the answer ended in the middle of the item. */
  end(status: "completed" | "incomplete" = "completed"): Event[] {
    return this.#close(status);
  }

  /** The position fields of an event of the open item, which is the last one. */
  #at({ item }: Open) {
    return { item_id: item["id"], output_index: this.items.length - 1 };
  }

  #begin(open: Open): Event {
    this.#open = open;
    this.items.push(open.item);
    return { type: "response.output_item.added", output_index: this.items.length - 1, item: { ...open.item } };
  }

  #addText(kind: PartKind, delta: string): Event[] {
    if (delta === "") return [];
    const events: Event[] = [];
    const { part, event, more } = parts[kind];
    let open = this.#open;
    if (open?.kind !== kind) {
      events.push(...this.#close());
      const id = this.#newId(kind === "reasoning" ? "rs" : "msg");
      const item =
        kind === "reasoning"
          ? { id, type: "reasoning", status: "in_progress", summary: [], content: [] }
          : { id, type: "message", status: "in_progress", role: "assistant", content: [] };
      open = { kind, item, text: "" };
      events.push(this.#begin(open));
      events.push({ type: "response.content_part.added", ...this.#at(open), content_index: 0, part: part("") });
    }
    open.text += delta;
    return [...events, { type: `${event}.delta`, ...this.#at(open), content_index: 0, delta, ...more }];
  }

  #addCall(call: Fields, index: unknown): Event[] {
    const made = isFields(call["function"]) ? call["function"] : isFields(call["custom"]) ? call["custom"] : {};
    const isCustom = call["type"] === "custom" || isFields(call["custom"]);
    const events: Event[] = [];
    let open = this.#open;
    if (open?.kind !== "call" || open.index !== index) {
      events.push(...this.#close());
      const common = { status: "in_progress", call_id: call["id"] ?? this.#newId("call"), ...toToolName(this.#tools, made["name"]) };
      const item = isCustom
        ? { id: this.#newId("ctc"), type: "custom_tool_call", ...common, input: "" }
        : { id: this.#newId("fc"), type: "function_call", ...common, arguments: "" };
      open = { kind: "call", item, index, isCustom, text: "" };
      events.push(this.#begin(open));
    }
    const delta = made[isCustom ? "input" : "arguments"];
    if (typeof delta !== "string" || delta === "") return events;
    open.text += delta;
    const type = isCustom ? "response.custom_tool_call_input.delta" : "response.function_call_arguments.delta";
    return [...events, { type, ...this.#at(open), delta }];
  }

  #close(status: "completed" | "incomplete" = "completed"): Event[] {
    const open = this.#open;
    if (!open) return [];
    const events: Event[] = [];
    const { item, text } = open;
    item["status"] = status;
    if (open.kind === "call") {
      const field = open.isCustom ? "input" : "arguments";
      item[field] = text;
      const type = open.isCustom ? "response.custom_tool_call_input.done" : "response.function_call_arguments.done";
      events.push({ type, ...this.#at(open), ...(!open.isCustom && { name: item["name"] }), [field]: text });
    } else {
      const { part, event, more } = parts[open.kind];
      const whole = part(text);
      open.item.content.push(whole);
      const named = open.kind === "refusal" ? { refusal: text } : { text };
      events.push({ type: `${event}.done`, ...this.#at(open), content_index: 0, ...named, ...more });
      events.push({ type: "response.content_part.done", ...this.#at(open), content_index: 0, part: whole });
    }
    events.push({ type: "response.output_item.done", output_index: this.items.length - 1, item: { ...item } });
    this.#open = undefined;
    return events;
  }
}
