/** Checks the lines of a batch before it begins: what they will cost, and which of them would be refused. */

import { liveCatalog } from "../../current-catalog.ts";
import type { Violation } from "../../base/errors.ts";
import type { Catalog } from "../../catalog/catalog.ts";
import { type Endpoint, parseBody, toParameters } from "../../catalog/parse.ts";
import type { ChatBody } from "../../catalog/chat-schema.ts";
import { chatReservation } from "../../catalog/chat-tokens.ts";
import { priceTask } from "../../catalog/prices.ts";
import { t } from "../../messages/index.ts";
import type { ConsoleContext } from "../context.ts";
import { askGateway } from "../gateway.ts";

/** A line that would be refused. `line` counts from 1. */
interface Fault {
  line: number;
  customId: string | undefined;
  text: string;
}

export interface Checked {
  lines: number;
  refused: number;
  /** Millionths, of the lines that would run. */
  price: number;
  /** By model, the largest price first. */
  models: { model: string; lines: number; price: number }[];
  /** The first ones. */
  faults: Fault[];
  /** True if the batch takes fewer lines. */
  isTooLong: boolean;
}

const maxLines = 50_000;
const maxLineLength = 1024 * 1024;
const shownFaults = 50;

const targets: [path: RegExp, endpoint: Endpoint][] = [
  [/^\/v1\/images\/generations$/, "image"],
  [/^\/v1\/videos\/generations$/, "video"],
  [/^\/v1\/videos\/[\w-]+\/remix$/, "remix"],
  [/^\/v1\/chat\/completions$/, "chat"],
  [/^\/v1\/tasks$/, "task"],
];
const allowed = "/v1/images/generations, /v1/videos/generations, /v1/videos/{id}/remix, /v1/chat/completions, /v1/tasks";

type Found = { customId?: string | undefined; violations: Violation[] } | { customId: string; model: string; price: number };

/** Checks the fields of a line and its price. Files, addresses and limits of keys are looked up when the line begins. Pure. */
function checkLine(text: string, catalog: Catalog, known: Set<string>): Found {
  let line: unknown;
  try {
    // The API treats fields that are null as missing.
    line = JSON.parse(text, (_, value: unknown) => (value === null ? undefined : value));
  } catch {
    return { violations: [{ param: "", rule: "invalid_json" }] };
  }
  const { custom_id: id, endpoint: path, body } = (typeof line === "object" && line !== null ? line : {}) as Record<string, unknown>;
  const violations: Violation[] = [];
  const customId = typeof id === "string" && /^\P{Cc}{1,128}$/u.test(id) ? id : undefined;
  if (customId === undefined) violations.push({ param: "custom_id", rule: id === undefined ? "required" : "bad_custom_id" });
  else if (known.has(customId)) violations.push({ param: "custom_id", rule: "duplicate_custom_id" });
  else known.add(customId);
  const [, endpoint] = targets.find(([pattern]) => typeof path === "string" && pattern.test(path)) ?? [];
  if (!endpoint) violations.push({ param: "endpoint", rule: path === undefined ? "required" : "not_one_of", values: { allowed } });
  if (typeof body !== "object" || body === null || Array.isArray(body)) {
    violations.push({ param: "body", rule: body === undefined ? "required" : "wrong_type", values: { expected: "object" } });
    return { customId, violations };
  }
  if (!endpoint) return { customId, violations };
  const { model, action, output, violations: own } = parseBody(body as Record<string, unknown>, endpoint, { catalog });
  violations.push(...own);
  if (violations.length > 0 || !model || customId === undefined) return { customId, violations };
  if (action === "chat") return { customId, model: model.id, price: chatReservation(model.price, output as ChatBody).amount };
  return { customId, model: model.id, price: priceTask(model, action, toParameters(output)).price };
}

/** The lines of a stream of bytes, without those of white space only. A line that is too long ends them. */
async function* readLines(bytes: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  let rest = "";
  for await (const text of bytes.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) if (line.trim() !== "") yield line;
    if (rest.length > maxLineLength) break;
  }
  if (rest.trim() !== "") yield rest;
}

/** Checks a file of lines. undefined if the account has no such file, or it contains something else. */
export async function checkFile(c: ConsoleContext, id: string): Promise<Checked | undefined> {
  const answer = await askGateway(c, `/v1/files/${encodeURIComponent(id)}/content`);
  if (!answer.ok || !answer.body || answer.headers.get("content-type") !== "application/jsonl") {
    await answer.body?.cancel();
    return undefined;
  }
  const catalog = await liveCatalog(c.env.DB);
  const { language } = c.var;
  const known = new Set<string>();
  const models = new Map<string, { model: string; lines: number; price: number }>();
  const checked: Checked = { lines: 0, refused: 0, price: 0, models: [], faults: [], isTooLong: false };
  for await (const text of readLines(answer.body)) {
    if (checked.lines >= maxLines) {
      checked.isTooLong = true;
      break;
    }
    checked.lines++;
    const found: Found =
      text.length > maxLineLength
        ? { violations: [{ param: "line", rule: "too_long", values: { maximum: maxLineLength } }] }
        : checkLine(text, catalog, known);
    if ("violations" in found) {
      checked.refused++;
      const reasons = found.violations.map(({ param, rule, values }) =>
        param === "" ? t(language, rule, values) : t(language, "violated", { param, reason: t(language, rule, values) }),
      );
      if (checked.faults.length < shownFaults)
        checked.faults.push({ line: checked.lines, customId: found.customId, text: reasons.join("; ") });
      continue;
    }
    const sum = models.get(found.model) ?? { model: found.model, lines: 0, price: 0 };
    sum.lines++;
    sum.price += found.price;
    models.set(found.model, sum);
    checked.price += found.price;
  }
  checked.models = [...models.values()].sort((one, other) => other.price - one.price);
  return checked;
}
