/** The input of fal's endpoints: the maker's own types (`endpoints.json`), with the limits stated on its pages at fal.ai. */

import * as z from "zod/mini";
import facts from "./endpoints.json" with { type: "json" };

const url = z.string().check(z.regex(/^(?:https?:\/\/|data:image\/)/));

/** Width and height whose product is in this range. */
const area = (min: number, max: number) =>
  z.object({ width: z.int(), height: z.int() }).check(z.refine(({ width, height }) => width * height >= min && width * height <= max));
const multiplesOf16 = area(655_360, 8_294_400).check(z.refine(({ width, height }) => width % 16 === 0 && height % 16 === 0));

/** The sizes in pixels, as on the models' pages. */
const imageSizes: [RegExp, z.ZodMiniType][] = [
  [/seedream\/v4\//, area(960 * 960, 4096 * 4096)],
  [/seedream\/v4\.5\//, area(2560 * 1440, 4096 * 4096)],
  [/seedream\/v5\/lite\//, area(2560 * 1440, 3072 * 3072)],
  [/seedream\/v5\/pro\//, area(1024 * 1024, 2048 * 2048)],
  [/gpt-image-2/, multiplesOf16],
];

/** Limits on lists and texts that the types do not have. */
const limits: [endpoint: RegExp, field: string, max: number][] = [
  [/seedance-2/, "image_urls", 9],
  [/veo/, "image_urls", 3],
  [/\/edit$/, "image_urls", 10],
  [/wan-3/, "reference_image_urls", 10],
  [/hailuo/, "prompt", 2000],
  [/kling-video/, "prompt", 2500],
];

function toSchema(endpoint: string, field: string, type: string): z.ZodMiniType {
  const words = [...type.matchAll(/'([^']*)'/g)].map(([, word = ""]) => word);
  if (type.includes("ImageSize")) {
    const pixels = imageSizes.find(([pattern]) => pattern.test(endpoint))?.[1] ?? z.never();
    return z.union([pixels, z.enum(words)]);
  }
  if (words.length > 0) return z.enum(words);
  if (type.startsWith("Array")) return z.array(url).check(z.minLength(1));
  if (field.endsWith("_url")) return url;
  if (type === "2 to 30") return z.int().check(z.gte(2), z.lte(30));
  return type === "number" ? z.number() : type === "boolean" ? z.boolean() : z.string().check(z.minLength(1));
}

/** A schema with every field of an endpoint. Unknown or ignored fields are violations here, because their meaning would be lost. */
function toShape(endpoint: string, fields: Record<string, string>): z.ZodMiniType {
  const shape: Record<string, z.ZodMiniType> = {};
  for (const [name, type] of Object.entries(fields)) {
    if (name.startsWith("~")) continue;
    const field = name.replace("?", "");
    let schema = toSchema(endpoint, field, type);
    for (const [pattern, limited, max] of limits) if (limited === field && pattern.test(endpoint)) schema = schema.check(z.maxLength(max));
    shape[field] = name.endsWith("?") ? z.optional(schema) : schema;
  }
  return z.strictObject(shape);
}

const known: Record<string, Record<string, string>> = facts.endpoints;
const like = (endpoint: string, more: Record<string, string> = {}) => ({ ...known[endpoint], ...more });
const secondsTo30 = Array.from({ length: 27 }, (_, at) => `'${at + 4}'`).join(" | ");
const upTo720 = "'480p' | '720p'";
const upTo1080 = `${upTo720} | '1080p'`;
const seedance25 = { "duration?": secondsTo30, "resolution?": upTo720 };
const gptImage15 = { "image_size?": "'1024x1024' | '1536x1024' | '1024x1536'" };
const wan = { prompt: "string", "duration?": "2 to 30", "resolution?": upTo1080 };
const wanRatio = { "aspect_ratio?": "'adaptive' | '16:9' | '4:3' | '1:1' | '3:4' | '9:16'" };
const klingSeconds = Array.from({ length: 13 }, (_, at) => `'${at + 3}'`).join(" | ");
const kling = { "prompt?": "string", "duration?": klingSeconds, "generate_audio?": "boolean" };
const klingEndpoints = (tier: string) => ({
  [`fal-ai/kling-video/v3/${tier}/text-to-video`]: { ...kling, "aspect_ratio?": "'16:9' | '9:16' | '1:1'" },
  [`fal-ai/kling-video/v3/${tier}/image-to-video`]: { ...kling, start_image_url: "string", "end_image_url?": "string" },
});
const seedream = "fal-ai/bytedance/seedream/v4.5";
const seedanceFast = "fal-ai/bytedance/seedance/v1/pro/fast";

/** Endpoints that are missing in that copy of the types: like a related endpoint, with the differences stated on their pages at fal.ai. */
const others: Record<string, Record<string, string>> = {
  "fal-ai/bytedance/seedream/v4/text-to-image": like(`${seedream}/text-to-image`),
  "fal-ai/bytedance/seedream/v4/edit": like(`${seedream}/edit`),
  "fal-ai/bytedance/seedream/v5/lite/text-to-image": like(`${seedream}/text-to-image`),
  "fal-ai/bytedance/seedream/v5/lite/edit": like(`${seedream}/edit`),
  "bytedance/seedream/v5/lite/text-to-image": like(`${seedream}/text-to-image`),
  "bytedance/seedream/v5/lite/edit": like(`${seedream}/edit`),
  "bytedance/seedream/v5/pro/text-to-image": like(`${seedream}/text-to-image`),
  "bytedance/seedream/v5/pro/edit": like(`${seedream}/edit`),
  "alibaba/wan-3.0/text-to-video": { ...wan, ...wanRatio },
  "alibaba/wan-3.0/image-to-video": { ...wan, start_image_url: "string", "end_image_url?": "string" },
  "alibaba/wan-3.0/reference-to-video": { ...wan, ...wanRatio, reference_image_urls: "Array<string>" },
  ...klingEndpoints("standard"),
  ...klingEndpoints("pro"),
  "fal-ai/gpt-image-1.5": like("openai/gpt-image-2", gptImage15),
  "fal-ai/gpt-image-1.5/edit": like("openai/gpt-image-2/edit", gptImage15),
  "fal-ai/nano-banana": like("fal-ai/nano-banana-pro"),
  "fal-ai/nano-banana/edit": like("fal-ai/nano-banana-pro/edit"),
  "fal-ai/veo3.1/fast/reference-to-video": like("fal-ai/veo3.1/reference-to-video"),
  "bytedance/seedance-2.5/text-to-video": like("bytedance/seedance-2.0/text-to-video", seedance25),
  "bytedance/seedance-2.5/image-to-video": like("bytedance/seedance-2.0/image-to-video", seedance25),
  "bytedance/seedance-2.5/reference-to-video": like("bytedance/seedance-2.0/reference-to-video", seedance25),
  "fal-ai/wan/v2.7/text-to-video": like(`${seedanceFast}/text-to-video`, { "resolution?": upTo1080 }),
  "fal-ai/wan/v2.7/image-to-video": like(`${seedanceFast}/image-to-video`, { "resolution?": upTo1080 }),
};
/** Endpoints that only models with their own input use (fal.ai, pages of the models). */
const ownInputs: Record<string, Record<string, string>> = {
  "fal-ai/elevenlabs/tts/multilingual-v2": { text: "string", "voice?": "string", "stability?": "number", "style?": "number" },
  "fal-ai/hunyuan3d/v2": { input_image_url: "string", "textured_mesh?": "boolean", "seed?": "number" },
};
const schemas = new Map(
  Object.entries({ ...known, ...others, ...ownInputs }).map(([endpoint, fields]) => [endpoint, toShape(endpoint, fields)]),
);

/** One violated rule, in FastAPI's format. */
export interface Violation {
  loc: (string | number)[];
  msg: string;
  type: string;
}

/** True if the endpoint exists. */
export const isEndpoint = (id: string): boolean => schemas.has(id);

/** The violations in the input of an endpoint. */
export function readViolations(endpoint: string, input: unknown): Violation[] {
  const { error } = schemas.get(endpoint)!.safeParse(input);
  return (error?.issues ?? []).map(({ path, code, message }) => ({
    loc: ["body", ...(path as (string | number)[])],
    msg: message,
    type: code === "invalid_value" ? "literal_error" : code === "invalid_type" ? "missing" : "value_error",
  }));
}
