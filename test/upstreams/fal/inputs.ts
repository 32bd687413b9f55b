/** What fal's endpoints take, as `endpoints.d.ts` of @fal-ai/client 1.10.1 has it; seedance-2.0 and gpt-image-2 as their pages at fal.ai. */

import * as z from "zod/mini";

const url = z.string().check(z.regex(/^(?:https?:\/\/|data:image\/)/));
const prompt = z.string().check(z.minLength(1));
const num_images = z.optional(z.int().check(z.gte(1), z.lte(4)));
const aspect = (...ratios: string[]) => z.optional(z.enum(["21:9", "16:9", "4:3", "1:1", "3:4", "9:16", ...ratios]));
const seconds = (from: number, to: number) => z.optional(z.enum(Array.from({ length: to - from + 1 }, (_, at) => String(from + at))));

/** Width and height whose product is in this range. */
const area = (least: number, most: number) =>
  z.object({ width: z.int(), height: z.int() }).check(z.refine(({ width, height }) => width * height >= least && width * height <= most));
const multiplesOf16 = area(655_360, 8_294_400).check(z.refine(({ width, height }) => width % 16 === 0 && height % 16 === 0));

const seedream = (least: number, most: number) => ({ prompt, num_images, image_size: z.optional(area(least, most)) });
const gptSizes = ["1024x1024", "1536x1024", "1024x1536"];
const gpt = (image_size: z.ZodMiniType) => ({ prompt, num_images, image_size, quality: z.optional(z.enum(["low", "medium", "high"])) });
const nanoBanana = {
  prompt,
  num_images,
  aspect_ratio: aspect("3:2", "2:3", "5:4", "4:5", "auto"),
  resolution: z.optional(z.enum(["1K", "2K", "4K"])),
};
const veo = {
  prompt,
  aspect_ratio: z.optional(z.enum(["16:9", "9:16"])),
  duration: z.optional(z.enum(["4s", "6s", "8s"])),
  resolution: z.optional(z.enum(["720p", "1080p"])),
};
const seedance = (from: number, to: number, resolutions = ["480p", "720p", "1080p"]) => ({
  prompt,
  aspect_ratio: aspect(),
  duration: seconds(from, to),
  resolution: z.optional(z.enum(resolutions)),
});
const hailuo = { prompt, prompt_optimizer: z.optional(z.boolean()) };
const hailuoSeconds = { ...hailuo, duration: z.optional(z.enum(["6", "10"])) };

const withEdit = (id: string, made: z.core.$ZodLooseShape, text = "") => ({
  [`${id}${text}`]: made,
  [`${id}/edit`]: { ...made, image_urls: z.array(url).check(z.minLength(1), z.maxLength(10)) },
});
const withFrame = (id: string, made: z.core.$ZodLooseShape, frames: z.core.$ZodLooseShape = {}) => ({
  [`${id}/text-to-video`]: made,
  [`${id}/image-to-video`]: { ...made, image_url: url, ...frames },
});
const end = { end_image_url: z.optional(url) };
const withVeoFrames = (id: string) => ({
  [id]: veo,
  [`${id}/image-to-video`]: { ...veo, image_url: url },
  [`${id}/first-last-frame-to-video`]: { ...veo, first_frame_url: url, last_frame_url: url },
});

const shapes: Record<string, z.core.$ZodLooseShape> = {
  ...withEdit("fal-ai/bytedance/seedream/v4", seedream(960 * 960, 4096 * 4096), "/text-to-image"),
  ...withEdit("fal-ai/bytedance/seedream/v4.5", seedream(2560 * 1440, 4096 * 4096), "/text-to-image"),
  ...withEdit("fal-ai/bytedance/seedream/v5/lite", seedream(2560 * 1440, 3072 * 3072), "/text-to-image"),
  ...withEdit("fal-ai/gpt-image-1.5", gpt(z.optional(z.enum(gptSizes)))),
  ...withEdit("openai/gpt-image-2", gpt(z.optional(z.union([multiplesOf16, z.enum(["square", "square_hd", "landscape_4_3"])])))),
  ...withEdit("fal-ai/nano-banana", nanoBanana),
  ...withEdit("fal-ai/nano-banana-pro", nanoBanana),
  ...withVeoFrames("fal-ai/veo3.1"),
  ...withVeoFrames("fal-ai/veo3.1/fast"),
  "fal-ai/veo3.1/reference-to-video": { ...veo, image_urls: z.array(url).check(z.minLength(1)) },
  ...withFrame("fal-ai/bytedance/seedance/v1/pro/fast", seedance(2, 12)),
  ...withFrame("fal-ai/bytedance/seedance/v1/pro", seedance(2, 12), end),
  ...withFrame("bytedance/seedance-2.0", seedance(4, 15), end),
  ...withFrame("bytedance/seedance-2.0/fast", seedance(4, 15, ["480p", "720p"]), end),
  "bytedance/seedance-2.0/fast/reference-to-video": {
    ...seedance(4, 15, ["480p", "720p"]),
    image_urls: z.array(url).check(z.maxLength(9)),
  },
  ...withFrame("fal-ai/wan/v2.7", seedance(2, 15, ["720p", "1080p"])),
  ...withFrame("fal-ai/minimax/hailuo-02/standard", hailuoSeconds, { ...end, resolution: z.optional(z.enum(["512P", "768P"])) }),
  ...withFrame("fal-ai/minimax/hailuo-02/pro", hailuo, end),
};

/** One violated rule as FastAPI tells it. */
export interface Violation {
  loc: (string | number)[];
  msg: string;
  type: string;
}

/** Whether there is such an endpoint. */
export const isEndpoint = (id: string): boolean => Object.hasOwn(shapes, id);

/** What is wrong with the input of an endpoint. Fields that it does not know are passed over, as there. */
export function violationsOf(endpoint: string, input: unknown): Violation[] {
  const { error } = z.object(shapes[endpoint]).safeParse(input);
  return (error?.issues ?? []).map(({ path, code, message }) => ({
    loc: ["body", ...(path as (string | number)[])],
    msg: message,
    type: code === "invalid_value" ? "literal_error" : code === "invalid_type" ? "missing" : "value_error",
  }));
}
