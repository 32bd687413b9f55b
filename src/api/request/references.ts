/** The images and videos that a submission refers to: URLs are checked and inline images decoded before anything is stored. */

import { imageProblems, type ImageRole, maxImageBytes } from "../../catalog/fields.ts";
import { fileParam } from "../../catalog/own-body.ts";
import type { FileKind, FoundFile, Step } from "../../catalog/own-schema.ts";
import { takesRoles } from "../../catalog/parse.ts";
import type { Violation } from "../../base/errors.ts";
import type { LargeBody } from "./large-body.ts";
import { decodeImage } from "../../media/base64-image.ts";
import { decodeDataUri } from "../../media/data-uri.ts";
import { checkPublicUrl, checkReceiverUrl, type UrlRules } from "../../net/public-url.ts";

/** One image of a body: its field and its content. */
export type Reference = { role?: ImageRole; /** The place in an own input. */ at?: Step[] } & (
  | { url: string; inline?: never; extracted?: never; file?: never }
  /** An image that is not stored yet. */
  | { inline: { bytes: Uint8Array<ArrayBuffer>; type: string }; url?: never; extracted?: never; file?: never }
  /** An image that was stored while the body was read: its index among those images. */
  | { extracted: number; url?: never; inline?: never; file?: never }
  /** A file of the account: its id, which is not looked up yet, and the field that names it. `is` defaults to an image. */
  | { file: string; param: string; is?: FileKind; url?: never; inline?: never; extracted?: never }
);

/** One whose role is resolved. */
export type ReferenceWithRole = Reference & { role: ImageRole };

interface Field {
  param: string;
  value: unknown;
  role?: ImageRole | undefined;
  /** The encodings in which inline images are accepted in this field. */
  inline: "none" | "data_uri" | "bare";
}

/** Reads the images of a raw body in order, with every violation. */
export function readReferences(
  { body, images }: LargeBody,
  model: string,
  rules: UrlRules,
): { references: Reference[]; violations: Violation[] } {
  const references: Reference[] = [];
  const violations: Violation[] = [];
  for (const field of imageFields(body, model)) {
    const found = readImage(field, images, rules);
    if (found && "rule" in found) violations.push({ param: field.param, ...found });
    else if (found) references.push({ ...found, ...(field.role && { role: field.role }) });
  }
  return { references, violations };
}

/** The image of a field, or the rule that it violates; undefined without one. */
function readImage(
  { param, value, inline }: Field,
  images: LargeBody["images"],
  rules: UrlRules,
): Reference | Omit<Violation, "param"> | undefined {
  // The schema stops at a list that is too long; the violations of its elements are reported nevertheless.
  if (typeof value !== "string") return value === undefined ? undefined : { rule: "wrong_type", values: { expected: "string" } };
  if (isFileName(value)) return { file: value.trim(), param };
  if (inline === "none" || /^https?:/i.test(value.trim())) {
    const url = checkPublicUrl(value, rules);
    return url instanceof URL ? { url: url.href } : { rule: "bad_url" };
  }
  const extracted = images.get(value);
  if (extracted && !("problem" in extracted))
    return extracted.spelling === "bare" && inline !== "bare" ? { rule: "bad_image" } : { extracted: extracted.index };
  const image = extracted ?? decodeImage(value, { allowBare: inline === "bare", maxBytes: maxImageBytes });
  return "problem" in image ? { rule: imageProblems[image.problem], values: { maximum: 10 } } : { inline: image };
}

/** True if the text names a file of the caller, whether or not it exists. The underscore occurs neither in Base64 nor in a URL's scheme. */
const isFileName = (text: string) => text.trim().startsWith("file_");

/** Checks a video's URL, or returns the id of the file that it names. */
export function readVideoUrl(value: unknown, rules: UrlRules): { url?: string; file?: string; violations: Violation[] } {
  if (typeof value !== "string") return { violations: [] };
  if (isFileName(value)) return { file: value.trim(), violations: [] };
  const url = checkPublicUrl(value, rules);
  return url instanceof URL ? { url: url.href, violations: [] } : { violations: [{ param: "url", rule: "bad_url" }] };
}

/** Checks a callback URL in the field `param`; undefined if it is absent. */
export function readReceiverUrl(param: string, value: unknown, rules: UrlRules): { url?: string; violations: Violation[] } {
  if (value === undefined) return { violations: [] };
  if (typeof value !== "string") return { violations: [{ param, rule: "wrong_type", values: { expected: "string" } }] };
  const url = checkReceiverUrl(value, rules);
  return url instanceof URL ? { url: url.href, violations: [] } : { violations: [{ param, rule: "bad_callback_url" }] };
}

/**
 * The fields of a model's body that can have images. Bare Base64 is accepted only for models for which the interface says Base64: vidA and
 * vidC.
 */
function imageFields(body: Record<string, unknown>, model: string): Field[] {
  if (model.startsWith("vidD")) {
    const metadata = (typeof body["metadata"] === "object" ? body["metadata"] : {}) as Record<string, unknown>;
    return (["first_frame", "last_frame"] as const).map((role) => ({
      param: `metadata.${role}_image`,
      value: metadata[`${role}_image`],
      role,
      inline: "none" as const,
    }));
  }
  // If the model is unknown, images that at least one model accepts are not violations.
  const inline = model === "" || /^vid[AC]/.test(model) ? "bare" : "data_uri";
  const { images, image_with_roles: roles } = body;
  return [
    ...(Array.isArray(images) ? images.slice(0, 8).map((value: unknown, at): Field => ({ param: `images[${at}]`, value, inline })) : []),
    ...(takesRoles(model) && Array.isArray(roles)
      ? roles.slice(0, 8).map((item: unknown, at): Field => {
          const { url, role } = (typeof item === "object" && item !== null ? item : {}) as { url?: unknown; role?: ImageRole };
          return { param: `image_with_roles[${at}].url`, value: url, role, inline };
        })
      : []),
  ];
}

/**
 * Reads the files of an own input. Public URLs stay in it, because the upstream fetches them; of the others the bytes are sent in their
 * place.
 */
export function readOwnFiles(files: FoundFile[], rules: UrlRules): { references: Reference[]; violations: Violation[] } {
  const references: Reference[] = [];
  const violations: Violation[] = [];
  for (const { at, value, is } of files) {
    const param = fileParam({ at });
    if (isFileName(value)) references.push({ file: value.trim(), param, is, at });
    else if (/^\s*data:/i.test(value.slice(0, 64))) {
      const found = decodeDataUri(value, maxImageBytes);
      if (found === "too_large") violations.push({ param, rule: "image_too_large", values: { maximum: 10 } });
      else if (!found || (is !== "any" && !found.type.startsWith(`${is}/`))) violations.push({ param, rule: "bad_inline_file" });
      else references.push({ inline: found, at });
    } else if (!(checkPublicUrl(value, rules) instanceof URL)) violations.push({ param, rule: "bad_own_file" });
  }
  return { references, violations };
}

/** An own input without inline data. */
export function withoutInlineFiles(input: object, files: FoundFile[]): object {
  const shown = structuredClone(input);
  for (const { at, value } of files) {
    if (!/^\s*data:/i.test(value.slice(0, 64))) continue;
    const parent = at.slice(0, -1).reduce<unknown>((found, step) => (found as Record<Step, unknown>)[step], shown);
    (parent as Record<Step, unknown>)[at.at(-1)!] = "inline";
  }
  return shown;
}

/** The parameters for the record and the answers: inline image data is replaced by the word `inline`. */
export function withoutInlineData<T extends { images?: string[]; image_with_roles?: { url: string; role: ImageRole }[] }>(
  parameters: T,
): T {
  const shown = (text: string) => (/^https?:/i.test(text.trim()) || isFileName(text) ? text : "inline");
  return {
    ...parameters,
    ...(parameters.images && { images: parameters.images.map(shown) }),
    ...(parameters.image_with_roles && {
      image_with_roles: parameters.image_with_roles.map(({ url, role }) => ({ url: shown(url), role })),
    }),
  };
}
