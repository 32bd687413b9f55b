/** The fields of a chat that each family of upstream text models supports: `chat-families.txt`, overridden by `[vars.CHAT_FAMILIES]`. Pure. */

import * as z from "zod/mini";
import { once } from "../base/once.ts";
import { readTable } from "../base/variables.ts";
import text from "./chat-families.txt";

const names = () => z.optional(z.array(z.string()));

/** The settings of a family. Without settings a model supports every field and names its limit `max_tokens`. */
const chatFamily = once(() =>
  z.object({
    /** A regular expression for its upstream model ids; the first family that matches is used. */
    models: z.string().check(z.refine(isPattern)),
    /** The upstream's name of the field that limits the answer's tokens. */
    limit: z.enum(["max_tokens", "max_completion_tokens"]),
    /** Fields that it cannot honour: its routes are skipped if the caller sets one. */
    refuses: names(),
    /** Fields that it does not support, and that change neither the price nor the kind of output: not sent. */
    drops: names(),
    /** Fields that it refuses unless `reasoning_effort` is "none". If the caller gave no effort, "none" is sent with them. */
    refuses_while_reasoning: names(),
    /** Values of `reasoning_effort` that it refuses. */
    refuses_efforts: names(),
    /**
     * Its context window in tokens, if the operator states it: a prompt that is too long for one route is tried on a route with a larger one.
     */
    context_tokens: z.optional(z.int()),
  }),
);

export type ChatFamily = z.infer<ReturnType<typeof chatFamily>>;
export type ChatFamilies = Record<string, ChatFamily>;

/** The built-in families: JSON in a text file beside the script, parsed once per isolate. */
const builtIn = once(() => JSON.parse(text) as ChatFamilies);

const ofVariables = new WeakMap<Env, ChatFamilies>();

/** The families with those of the operator's variables, checked once per isolate. Throws a message that names a wrong entry. */
export function chatFamilies(env: Env): ChatFamilies {
  let families = ofVariables.get(env);
  if (!families) ofVariables.set(env, (families = checkFamilies(readTable("CHAT_FAMILIES", env.CHAT_FAMILIES))));
  return families;
}

/** Checks `[vars.CHAT_FAMILIES]`; throws a message that names the entry. Its families come before the built-in ones, and replace those of the same name. */
function checkFamilies(configured: unknown): ChatFamilies {
  if (configured !== undefined && (typeof configured !== "object" || configured === null))
    throw new TypeError("CHAT_FAMILIES is not a table");
  const families = { ...(configured as ChatFamilies | undefined) };
  const wrong = Object.keys(families).find((name) => !chatFamily().safeParse(families[name]).success);
  if (wrong !== undefined) throw new TypeError(`CHAT_FAMILIES.${wrong} is not {${Object.keys(chatFamily().shape).join(", ")}}`);
  return { ...families, ...Object.fromEntries(Object.entries(builtIn()).filter(([name]) => !(name in families))) };
}

function isPattern(text: string): boolean {
  try {
    return Boolean(new RegExp(text));
  } catch {
    return false;
  }
}

const plain: ChatFamily = { models: "", limit: "max_tokens" };

const found = new WeakMap<ChatFamilies, Map<string, ChatFamily>>();

/** The family of an upstream model id, found once for each model of the routes. */
export function findFamily(model: string, families: ChatFamilies): ChatFamily {
  let known = found.get(families);
  if (!known) found.set(families, (known = new Map()));
  let family = known.get(model);
  if (!family) known.set(model, (family = Object.values(families).find(({ models }) => new RegExp(models).test(model)) ?? plain));
  return family;
}

/** Values equal to the default: they are not sent if the family refuses the field. */
const neutral: Record<string, unknown> = {
  temperature: 1,
  top_p: 1,
  presence_penalty: 0,
  frequency_penalty: 0,
  logprobs: false,
  top_logprobs: 0,
  tool_choice: "auto",
  function_call: "auto",
};

/** The chat for a family with the names of the dropped fields, or the caller's field that the family cannot honour. */
export type Fitted = { body: Record<string, unknown>; dropped: string[] } | { unsupported: string };

/** Adapts the forwarded fields of a chat to a family, with the limit of its answer in tokens. */
export function fitToFamily(forwarded: Record<string, unknown>, maxTokens: number, family: ChatFamily): Fitted {
  const body = { ...forwarded, [family.limit]: maxTokens };
  const refusesAll = family.refuses ?? [];
  const refusesReasoning = family.refuses_while_reasoning ?? [];
  for (const field of [...refusesAll, ...refusesReasoning])
    if (body[field] !== undefined && body[field] === neutral[field]) delete body[field];
  const unsupported = refusesAll.find((field) => body[field] !== undefined);
  if (unsupported !== undefined) return { unsupported };
  const effort = body["reasoning_effort"];
  if (family.refuses_efforts?.some((one) => one === effort)) return { unsupported: "reasoning_effort" };
  const conflict = refusesReasoning.find((field) => body[field] !== undefined);
  if (conflict !== undefined && effort !== undefined && effort !== "none") return { unsupported: conflict };
  if (conflict !== undefined) body["reasoning_effort"] = "none";
  const dropped = (family.drops ?? []).filter((field) => body[field] !== undefined);
  for (const field of dropped) delete body[field];
  return { body, dropped };
}
