/** The schemas of fields that models share: one builder per field, so that a limit is written once. */

import * as z from "zod/mini";
import type { ImageTextProblem } from "../media/base64-image.ts";

/** A cross-field or text rule with a message in the message table. */
const rule = (name: string, values?: Record<string, string | number>) => ({ params: { rule: name, values } });

const codePoints = (text: string) => {
  let count = 0;
  for (const _ of text) count++;
  return count;
};

/** Text with other characters than white space, at most `maximum` Unicode code points. */
export const prompt = (maximum: number) =>
  z.string().check(
    z.refine((text) => text.trim() !== "", rule("blank")),
    z.refine((text) => text.length <= maximum || codePoints(text) <= maximum, rule("too_long", { maximum })),
    z.meta({ description: "Text description", minLength: 1, maxLength: maximum }),
  );

/** Width and height of an image by its ratio, in pixels (interface, 4.2). */
export const imagePixels: Record<string, readonly [number, number]> = {
  "1:1": [1024, 1024],
  "16:9": [1792, 1024],
  "9:16": [1024, 1792],
  "4:3": [1365, 1024],
  "3:4": [1024, 1365],
  "3:2": [1536, 1024],
  "2:3": [1024, 1536],
};

/** Options of an image's file, which OpenAI's paths have. */
export type ImageFormat = "png" | "jpeg" | "webp";
export type ImageBackground = "opaque" | "transparent";

/** One of these ratios; the first is the default. */
export const size = (ratios: readonly string[]) => z._default(z.enum(ratios), ratios[0] ?? "");

/** One of these numbers of seconds; the default is given. */
export const seconds = (allowed: readonly number[], fallback: number) => z._default(z.literal([...allowed]), fallback);

/** One of these words; the default, if there is one, is given. */
export const word = <const T extends string>(allowed: readonly [T, ...T[]]) => z.optional(z.enum(allowed));

export const flag = () => z.optional(z.boolean());

/**
 * An object with values of this schema under any names, as `z.record` has it and describes it: that would add 2.5 KB to the gateway's script.
 */
export const mapOf = <T extends z.core.SomeType>(value: T) =>
  z.catchall(z.object({}), value).check(z.meta({ properties: undefined, propertyNames: { type: "string" } }));

/** The size limit of a caller's image after decoding: the interface's "10MB". */
export const maxImageBytes = 10 * 1024 * 1024;

/** The message for each problem of an inline image. */
export const imageProblems: Record<ImageTextProblem | "too_many", string> = {
  not_an_image_url: "bad_image",
  empty: "bad_image",
  invalid_base64: "bad_base64",
  unsupported_format: "bad_image_format",
  too_large: "image_too_large",
  too_many: "too_many_images",
};

const imageReference = (kinds: string) => z.string().check(z.meta({ description: kinds }));
const urlOrDataUri = `Public http(s) URL, id of a file (file_...) or data:image/{format};base64,{data}; at most ${maxImageBytes / 1024 / 1024} MiB; PNG, JPEG or WebP`;

/** Images that guide the generation, at most `maximum`. */
export const images = (maximum: number) => z.optional(z.array(imageReference(urlOrDataUri)).check(z.maxLength(maximum)));

const imageRoles = ["first_frame", "last_frame", "reference"] as const;
export type ImageRole = (typeof imageRoles)[number];

type WithRole = { role: ImageRole };
const isFrame = ({ role }: WithRole) => role !== "reference";
const hasOneFrameEach = (list: WithRole[]) =>
  ["first_frame", "last_frame"].every((role) => list.filter((image) => image.role === role).length <= 1);

/** Images with roles: at most one first and one last frame. With `isEither` a list has frames or references, not both. */
export const imagesWithRoles = (maximum: number, { isEither = false } = {}) =>
  z.optional(
    z
      .array(z.object({ url: imageReference(urlOrDataUri), role: z.enum(imageRoles) }))
      .check(z.maxLength(maximum))
      .check(z.refine(hasOneFrameEach, rule("one_frame_each")))
      .check(z.refine((list) => !isEither || list.every(isFrame) || !list.some(isFrame), rule("frames_or_references"))),
  );

export const imageUrl = () => z.optional(z.string().check(z.meta({ description: "Public http(s) URL or id of a file (file_...)" })));

/** `start,end` in decimal seconds: from 0, one to three seconds long. */
export const timestamps = () =>
  z.string().check(
    z.refine((text) => parseTimestamps(text) !== undefined, { ...rule("timestamps_form"), abort: true }),
    z.refine((text) => isRangeAllowed(parseTimestamps(text)), rule("timestamps_range")),
    z.meta({ description: "start,end in seconds; one to three seconds long", pattern: timestampsForm.source }),
  );

const timestampsForm = /^\s{0,9}(\d{1,6}(?:\.\d{1,6})?)\s{0,9},\s{0,9}(\d{1,6}(?:\.\d{1,6})?)\s{0,9}$/;

/** The two ends of a range in seconds, or undefined if the text is not a range. */
export function parseTimestamps(text: string): { start: number; end: number } | undefined {
  const match = timestampsForm.exec(text);
  return match ? { start: Number(match[1]), end: Number(match[2]) } : undefined;
}

/** Compared in whole microseconds, so that floating point rounding does not make 0.1 to 1.1 longer than one second. */
function isRangeAllowed(range: { start: number; end: number } | undefined): boolean {
  if (!range) return false;
  const length = Math.round(range.end * 1e6) - Math.round(range.start * 1e6);
  return length >= 1e6 && length <= 3e6;
}

/** True for a day of the calendar, `2027-01-14`. */
function isDay(text: string): boolean {
  const at = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(text) : Number.NaN;
  // The 30th of February is parsed as a day of March.
  return !Number.isNaN(at) && new Date(at).toISOString().startsWith(text);
}

/** A day in UTC as text. */
export const day = () => z.string().check(z.refine(isDay, rule("bad_date")), z.meta({ format: "date" }));
