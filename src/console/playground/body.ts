/** The JSON body of a filled form, and the amount it will reserve. Invalid values are passed on, because the API reports them best. Pure. */

import type { ChatBody } from "../../catalog/chat-schema.ts";
import { chatReservation } from "../../catalog/chat-tokens.ts";
import { toParameters, parseBody } from "../../catalog/parse.ts";
import { priceFromShown, taskPrice } from "../../catalog/prices.ts";
import { isDeeperThan, maxDepth } from "../../media/json-depth.ts";
import type { Choice } from "./choices.ts";
import type { Field, Typed } from "./fields.ts";
import type { ImageFile } from "./image-file.ts";

export type Images = Map<string, ImageFile[]>;

/** The body without `model`. Image files stay in it as `ImageFile`. */
export function bodyOf(fields: Field[], typed: Typed, images: Images): Record<string, unknown> {
  const body: Record<string, unknown> = {};
  for (const field of fields) {
    const value = valueOf(field, typed, images);
    if (value === undefined) continue;
    const { group, key } = field;
    if (group === undefined) body[key] = value;
    else body[group] = { ...(body[group] as object | undefined), [key]: value };
  }
  return body;
}

/** The value of one field; undefined leaves it out. */
function valueOf(field: Field, typed: Typed, images: Images): unknown {
  const { name } = field;
  // Browsers send lines of a text area with CR LF.
  const textAt = (at: string) => (typed.get(at)?.[0] ?? "").replaceAll("\r\n", "\n");
  const text = textAt(name);
  switch (field.as) {
    case "flag":
      if (typed.has(name)) return true;
      return field.fallback === true ? false : undefined;
    case "choice":
      return text === "" ? undefined : (field.options.find((option) => String(option) === text) ?? text);
    case "number":
      return text.trim() === "" ? undefined : Number.isFinite(Number(text)) ? Number(text) : text;
    case "text":
      return text === "" ? undefined : text;
    case "json":
      return text.trim() === "" ? undefined : jsonOf(text);
    case "images": {
      const addresses = textAt(`${name}.url`).split("\n");
      const all = [...addresses.map((line) => line.trim()).filter(Boolean), ...(images.get(name) ?? [])];
      return all.length === 0 ? undefined : all;
    }
    case "roles": {
      const rows = Array.from({ length: field.most }, (_, at) => ({
        url: images.get(`${name}.${at}`)?.[0] ?? textAt(`${name}.${at}.url`).trim(),
        role: textAt(`${name}.${at}.role`),
      })).filter(({ url }) => url !== "");
      return rows.length === 0 ? undefined : rows;
    }
    case "messages":
      return messagesIn(name, typed).map(({ role, content }) => ({ role, content: content.replaceAll("\r\n", "\n") }));
  }
}

/** The messages of a conversation that are not empty. */
export function messagesIn(name: string, typed: Typed): { role: string; content: string }[] {
  const messages = [];
  for (let at = 0; typed.has(`${name}.${at}.role`); at++) {
    const [role = ""] = typed.get(`${name}.${at}.role`) ?? [];
    const [content = ""] = typed.get(`${name}.${at}.content`) ?? [];
    messages.push({ role, content });
  }
  return messages.filter(({ content }) => content.trim() !== "");
}

function jsonOf(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return isDeeperThan(value, maxDepth) ? text : value;
  } catch {
    return text; // a word where one is allowed, else an error that the API reports
  }
}

/** Millionths that a submission will reserve; null if the typed values do not determine it. */
export function holdOf({ model, action, fields, price: shown }: Choice, body: Record<string, unknown>): number | null {
  const price = priceFromShown(shown);
  if (action === "chat") {
    const { violations, output } = parseBody({ ...body, model }, "chat");
    return violations.length > 0 ? null : chatReservation(price, output as ChatBody).amount;
  }
  const defaults = Object.fromEntries(fields.flatMap(({ key, fallback }) => (fallback === undefined ? [] : [[key, fallback]])));
  const amount = taskPrice(price, action, { ...defaults, ...toParameters(body) });
  return Number.isSafeInteger(amount) && amount >= 0 ? amount : null;
}
