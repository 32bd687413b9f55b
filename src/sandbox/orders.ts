/** The bodies of requests, validated, with every default filled in. */

import * as z from "zod";
import { Fault } from "./fault.ts";
import { videoSize, imageSize } from "./sizes.ts";

const MAX_ERROR_CHARACTERS = 2000;

const common = {
  key: z.string().min(1).max(512),
  model: z.string().min(1).max(128),
  prompt: z.string().min(1).max(16_000),
  style: z.string().max(64).optional(),
  references: z
    .array(z.object({ sha256: z.string().max(128), type: z.string().max(64), role: z.string().max(32).optional() }))
    .max(16)
    .default([]),
};

const imageOrder = z.object({
  ...common,
  kind: z.literal("image"),
  n: z.int().min(1).max(10).default(1),
  size: z.string().default("1:1"),
  quality: z.enum(["standard", "hd"]).default("standard"),
});

const videoOrder = z.object({
  ...common,
  kind: z.enum(["video", "remix"]),
  size: z.string().default("16:9"),
  duration: z.number().min(1).max(60).default(5),
  resolution: z
    .string()
    .regex(/^\d{3,4}p$/)
    .default("720p"),
  thumbnail: z.boolean().default(false),
  source_sha256: z.string().max(128).optional(),
});

const generationOrder = z.discriminatedUnion("kind", [imageOrder, videoOrder]).superRefine((order, context) => {
  if (!orderPixels(order)) context.addIssue({ code: "custom", path: ["size"], message: "no such size is made" });
});

const second = z.coerce.number().min(0).max(86_400);
const characterOrder = z
  .object({ key: common.key, model: common.model, start: second, end: second, name: z.string().max(80).default("") })
  .refine(({ start, end }) => end > start, { path: ["end"], message: "the range is empty" })
  .transform((order) => ({ ...order, kind: "character" as const }));

export type ImageOrder = z.infer<typeof imageOrder>;
export type VideoOrder = z.infer<typeof videoOrder>;
export type CharacterOrder = z.infer<typeof characterOrder>;
export type Order = ImageOrder | VideoOrder | CharacterOrder;

/** Checks the body of a generation. Throws `Fault` "invalid_request" that names every violation. */
export function parseGeneration(body: unknown): ImageOrder | VideoOrder {
  return parse(generationOrder, body);
}

/** Checks the query of a character creation. Throws `Fault` "invalid_request". */
export function parseCharacter(query: Record<string, string>): CharacterOrder {
  return parse(characterOrder, query);
}

/** Checks a value against a schema. Throws `Fault` "invalid_request" that names every violation, the first one as its `param`. */
export function parse<T>(schema: z.ZodType<T>, value: unknown): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const violations = result.error.issues.map(({ path, message }) => ({ field: fieldAt(path), message }));
  const text = violations.map(({ field, message }) => `${field}: ${message}`).join("; ");
  throw new Fault("invalid_request", text.slice(0, MAX_ERROR_CHARACTERS), violations[0]?.field || null);
}

/** A path in the notation of fields: `messages[1].role`. */
function fieldAt(path: readonly PropertyKey[]): string {
  return path.map((part, at) => (typeof part === "number" ? `[${part}]` : at === 0 ? String(part) : `.${String(part)}`)).join("");
}

/** Width and height of an order's output; undefined if that size is not supported. */
export function orderPixels(order: ImageOrder | VideoOrder): { width: number; height: number } | undefined {
  return order.kind === "image" ? imageSize(order.size, order.quality) : videoSize(order.size, orderShortSide(order));
}

/** The short side of a video in pixels: the number of its resolution. */
export function orderShortSide(order: VideoOrder): number {
  return parseInt(order.resolution, 10);
}
