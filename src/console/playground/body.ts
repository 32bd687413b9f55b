/** The JSON body of a filled form, and the amount it will reserve. Invalid values are passed on, because the API reports them best. Pure. */

import type { ChatBody } from "../../catalog/chat-schema.ts";
import { chatReservation } from "../../catalog/chat-tokens.ts";
import { toParameters, parseBody } from "../../catalog/parse.ts";
import { type OwnPrice, priceInput, toRule } from "../../catalog/own-price.ts";
import { priceFromShown, taskPrice } from "../../catalog/prices.ts";
import { parseJson } from "../../media/json-limits.ts";
import type { Choice } from "./choices.ts";
import type { Field, Typed } from "./fields.ts";
import { ImageFile } from "./image-file.ts";

export type Images = Map<string, ImageFile[]>;

/** The body without `model`. Image files stay in it as `ImageFile`. */
export function buildBody(fields: Field[], typed: Typed, images: Images): Record<string, unknown> {
  const body: Record<string, unknown> = {};
  for (const field of fields) {
    const value = buildValue(field, typed, images);
    if (value === undefined) continue;
    const { group } = field;
    if (field.as === "pictures" && field.targets) {
      body["input"] = { ...(body["input"] as object | undefined), ...placeImages(field, value as PlacedImage[]) };
      continue;
    }
    const key = field.as === "pictures" ? (field.roles.length > 0 ? "image_with_roles" : "images") : field.key;
    if (group === undefined) body[key] = value;
    else body[group] = { ...(body[group] as object | undefined), [key]: value };
  }
  return body;
}

interface PlacedImage {
  url: ImageFile | string;
  /** The name of the field; empty if there is one alone. */
  role: string;
}

/** The images of a tray in the fields of an own input. Two images for a field that takes one are passed on: the API says what it takes. */
function placeImages({ targets = [] }: Field & { as: "pictures" }, images: PlacedImage[]): Record<string, unknown> {
  const placed = targets.map(({ key, isList }, at): [string, unknown] => {
    const own = images.filter(({ role }) => role === key || (role === "" && at === 0)).map(({ url }) => url);
    return [key, isList || own.length > 1 ? own : own[0]];
  });
  return Object.fromEntries(placed.filter(([, value]) => value !== undefined && (!Array.isArray(value) || value.length > 0)));
}

/** The value of one field; undefined if the body must not contain it. */
function buildValue(field: Field, typed: Typed, images: Images): unknown {
  const { name } = field;
  // Browsers submit the lines of a text area with CR LF.
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
      return text.trim() === "" ? undefined : parseTyped(text);
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
    case "pictures": {
      const list = picturesIn(typed, images).map(({ at, url, task, role }) => ({
        url: images.get(`pictures.${at}`)?.[0] ?? (url === "" ? new ImageFile(`${task.replace("/", "-")}.png`) : url),
        role: role === "" ? (field.roles[0] ?? "") : role,
      }));
      if (list.length === 0) return undefined;
      if (field.targets) return list;
      return field.roles.length > 0 ? list : list.map((one) => one.url);
    }
    case "messages":
      return messagesIn(name, typed).map((message, at) => ({ role: message.role, content: toContent(message, at) }));
  }
}

/** The text, as a list of parts if there are images. */
function toContent({ content, images }: Message, message: number): unknown {
  const text = content.replaceAll("\r\n", "\n");
  const files = images.flatMap((uri, at) => ImageFile.fromDataUri(uri, `image-${message}-${at + 1}`) ?? []);
  if (files.length === 0) return text;
  return [...(text.trim() === "" ? [] : [{ type: "text", text }]), ...files.map((url) => ({ type: "image_url", image_url: { url } }))];
}

/** An image of the tray: a file, a URL, or an image of a task (`task_…/0`). */
export interface Picture {
  /** Its number in the form. */
  at: number;
  url: string;
  task: string;
  role: string;
  /** The name of its file; empty if it is not a file. */
  file: string;
}

/** The images of the tray, in the form's order. */
export function picturesIn(typed: Typed, images: Images): Picture[] {
  const numbers = [...typed.keys(), ...images.keys()].flatMap((name) => /^pictures\.(\d{1,3})(?:\.|$)/.exec(name)?.[1] ?? []);
  const all = [...new Set(numbers.map(Number))].toSorted((one, other) => one - other);
  return all
    .map((at) => {
      const text = (name: string) => typed.get(`pictures.${at}.${name}`)?.[0]?.trim() ?? "";
      const file = images.get(`pictures.${at}`)?.[0]?.name ?? "";
      return { at, url: text("url"), task: text("task"), role: text("role"), file };
    })
    .filter(({ url, task, file }) => url !== "" || task !== "" || file !== "");
}

export interface Message {
  role: string;
  content: string;
  /** The tokens, cost and duration of an answer, as displayed; empty for other messages. */
  used: string;
  /** Images as data URIs. */
  images: string[];
}

/** The messages of a conversation that are not empty. */
export function messagesIn(name: string, typed: Typed): Message[] {
  const messages = [];
  for (let at = 0; typed.has(`${name}.${at}.role`); at++) {
    const text = (part: string) => typed.get(`${name}.${at}.${part}`)?.[0] ?? "";
    const images = [...typed].flatMap(([key, [uri = ""]]) => (key.startsWith(`${name}.${at}.image.`) && uri !== "" ? [uri] : []));
    messages.push({ role: text("role"), content: text("content"), used: text("used"), images });
  }
  return messages.filter(({ content, images }) => content.trim() !== "" || images.length > 0);
}

function parseTyped(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return text; // a word if the field allows words, else an error that the API reports
  }
}

/** Millionths that a submission will reserve; null if the typed values do not determine it. */
export function computeHold({ model, action, fields, price: shown, priceRule }: Choice, body: Record<string, unknown>): number | null {
  const price = priceFromShown(shown);
  if (action === "chat") {
    // The price of an image does not depend on this field.
    const plain = JSON.parse(JSON.stringify(body, (_, value: unknown) => (value instanceof ImageFile ? "data:" : value))) as object;
    const { violations, output } = parseBody({ ...plain, model }, "chat");
    return violations.length > 0 ? null : chatReservation(price, output as ChatBody).amount;
  }
  const defaults = Object.fromEntries(fields.flatMap(({ key, fallback }) => (fallback === undefined ? [] : [[key, fallback]])));
  if (priceRule) return holdOfInput(toRule({ ...priceRule }), { ...defaultsOfInput(fields), ...(body["input"] as object | undefined) });
  if (action === "file") return null;
  const amount = taskPrice(price, action, { ...defaults, ...toParameters(body) });
  return Number.isSafeInteger(amount) && amount >= 0 ? amount : null;
}

const defaultsOfInput = (fields: Choice["fields"]) =>
  Object.fromEntries(fields.flatMap(({ key, group, fallback }) => (group === "input" && fallback !== undefined ? [[key, fallback]] : [])));

function holdOfInput(rule: OwnPrice, input: Record<string, unknown>): number | null {
  const priced = priceInput(rule, input);
  return "rule" in priced ? null : priced.price;
}
