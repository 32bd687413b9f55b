/** The images and videos that a submission refers to: URLs are checked and inline images decoded before anything is stored. */

import { type ImageRole, maxImageBytes } from "../catalog/fields.ts";
import { takesRoles } from "../catalog/parse.ts";
import type { Violation } from "../errors.ts";
import type { LargeBody } from "./large-body.ts";
import { decodeImage, type ImageTextProblem } from "../media/base64-image.ts";
import { checkPublicUrl, checkReceiverUrl, type UrlRules } from "../net/public-url.ts";

/** One image of a body: its field and its content. */
export type Reference = { role?: ImageRole } & (
  | { url: string; inline?: never; extracted?: never }
  /** An image that is not stored yet. */
  | { inline: { bytes: Uint8Array<ArrayBuffer>; type: string }; url?: never; extracted?: never }
  /** An image that was stored while the body was read: its index among those images. */
  | { extracted: number; url?: never; inline?: never }
);

interface Field {
  param: string;
  value: unknown;
  role?: ImageRole | undefined;
  /** The encodings in which inline images are accepted in this field. */
  inline: "none" | "data_uri" | "bare";
}

const problems: Record<ImageTextProblem | "too_many", string> = {
  not_an_image_url: "bad_image",
  empty: "bad_image",
  invalid_base64: "bad_base64",
  unsupported_format: "bad_image_format",
  too_large: "image_too_large",
  too_many: "too_many_images",
};

/** Reads the images of a raw body in order, with every violation. */
export function readReferences(
  { body, images }: LargeBody,
  model: string,
  rules: UrlRules,
): { references: Reference[]; violations: Violation[] } {
  const references: Reference[] = [];
  const violations: Violation[] = [];
  for (const { param, value, role, inline } of imageFields(body, model)) {
    if (typeof value !== "string") {
      // The schema stops at a list that is too long; the violations of its elements are reported nevertheless.
      if (value !== undefined) violations.push({ param, rule: "wrong_type", values: { expected: "string" } });
      continue;
    }
    const isUrl = /^https?:/i.test(value.trim());
    if (isUrl || inline === "none") {
      const url = checkPublicUrl(value, rules);
      if (url instanceof URL) references.push({ url: url.href, ...(role && { role }) });
      else violations.push({ param, rule: "bad_url" });
      continue;
    }
    const extracted = images.get(value);
    if (extracted) {
      if ("problem" in extracted) violations.push({ param, rule: problems[extracted.problem], values: { maximum: 10 } });
      else if (extracted.spelling === "bare" && inline !== "bare") violations.push({ param, rule: "bad_image" });
      else references.push({ extracted: extracted.index, ...(role && { role }) });
      continue;
    }
    const image = decodeImage(value, { allowBare: inline === "bare", maxBytes: maxImageBytes });
    if ("problem" in image) violations.push({ param, rule: problems[image.problem], values: { maximum: 10 } });
    else references.push({ inline: image, ...(role && { role }) });
  }
  return { references, violations };
}

/** Checks a video's URL. */
export function readVideoUrl(value: unknown, rules: UrlRules): { url?: string; violations: Violation[] } {
  if (typeof value !== "string") return { violations: [] };
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

/** The parameters for the record and the answers: inline image data is replaced by the word `inline`. */
export function withoutInlineData<T extends { images?: string[]; image_with_roles?: { url: string; role: ImageRole }[] }>(
  parameters: T,
): T {
  const shown = (text: string) => (/^https?:/i.test(text.trim()) ? text : "inline");
  return {
    ...parameters,
    ...(parameters.images && { images: parameters.images.map(shown) }),
    ...(parameters.image_with_roles && {
      image_with_roles: parameters.image_with_roles.map(({ url, role }) => ({ url: shown(url), role })),
    }),
  };
}
