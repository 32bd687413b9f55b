/** What MiniMax's models can do, and a wish in the words of its two APIs: v1 for Hailuo, v2 for H3 and later. */

import { promptWithNames } from "./prompt.ts";
import type { Wish } from "./provider.ts";

/** `MiniMax-H3`, `MiniMax-H3-Max`; everything else (`MiniMax-Hailuo-02`, `MiniMax-Hailuo-2.3`) is asked through v1. */
export const isV2 = (model: string) => /^MiniMax-H\d/i.test(model);

const mostPromptV1 = 2000;
const ratios = new Set(["21:9", "16:9", "4:3", "1:1", "3:4", "9:16"]);
const mostReferences = 9;
/** Left to itself, H3 makes the dearest there is: 2K. */
const plainResolution = "768p";

/** The field of the caller that the model cannot honour. */
export function unable(wish: Wish): string | undefined {
  if (wish.kind !== "video") return "model";
  return isV2(wish.model) ? unableV2(wish) : unableV1(wish);
}

function unableV1(wish: Wish): string | undefined {
  const { model, duration, resolution } = wish;
  const { hasFirst, hasLast, others } = framesOf(wish);
  const is23 = /hailuo-2\.3/i.test(model);
  // Nor has it a field for the pictures of characters.
  if (wish.characters.length > 0 || lengthOf(wish.prompt) > mostPromptV1) return "prompt";
  if (others.length > 0) return others[0]!.role ? "image_with_roles" : "images";
  // cloudflare-docs, catalog-models/minimax-hailuo-2.3: a first frame and no other, 768P and 1080P.
  if (hasLast && (!hasFirst || is23)) return frameField(wish, "last_frame");
  // novita.ai/docs, minimax-hailuo-2.3-fast-i2v: its picture is required.
  if (!hasFirst && /-fast$/i.test(model)) return frameField(wish, "first_frame");
  // There is no field for it: a film follows its first frame, and is landscape without one.
  if (!hasFirst && wish.size !== undefined && wish.size !== "16:9") return "size";
  if (duration !== 6 && duration !== 10) return "duration";
  const isPossible =
    resolution === undefined ||
    resolution === "768p" ||
    (resolution === "512p" && hasFirst && !hasLast && !is23) ||
    (resolution === "1080p" && duration === 6);
  return isPossible ? undefined : "metadata.resolution";
}

function unableV2(wish: Wish): string | undefined {
  const { duration, resolution } = wish;
  const { hasFirst, hasLast, others } = framesOf(wish);
  const isMax = /-max$/i.test(wish.model);
  const isPlain = /^minimax-h3$/i.test(wish.model);
  if (hasLast && !hasFirst) return frameField(wish, "last_frame");
  // A film follows frames or references, not both; Max takes no references (@ai-sdk/minimax 3.0.45).
  const references = others.length + wish.characters.length;
  if (references > 0 && (hasFirst || isMax || references > mostReferences))
    return others.length === 0 ? "prompt" : others[0]!.role ? "image_with_roles" : "images";
  if (!hasFirst && wish.size !== undefined && !ratios.has(wish.size)) return "size";
  if (duration === undefined || !Number.isInteger(duration) || duration < (isMax ? 5 : 4) || duration > 15) return "duration";
  // H3 has 768P and 2K, Max 480P and 768P (@ai-sdk/minimax 3.0.45).
  const isPossible = resolution === undefined || resolution === "768p" || (resolution === "480p" && !isPlain);
  if (!isPossible) return "metadata.resolution";
  // It writes no prompts anew: not to do so is all it can promise.
  return wish.promptOptimizer ? "metadata.prompt_optimizer" : undefined;
}

const framesOf = ({ images }: Wish) => ({
  hasFirst: images.some(({ role }) => role === "first_frame"),
  hasLast: images.some(({ role }) => role === "last_frame"),
  others: images.filter(({ role }) => role !== "first_frame" && role !== "last_frame"),
});

/** Only models that take frames one by one have these resolutions. */
const frameField = ({ resolution }: Wish, role: "first_frame" | "last_frame") =>
  resolution === "512p" || resolution === "768p" ? `metadata.${role}_image` : "image_with_roles";

const lengthOf = (text: string) => Array.from(text).length;

/** A style is advice: it goes into the prompt where there is room for it. */
function promptOf(wish: Wish): string {
  const { style, model } = wish;
  const prompt = promptWithNames(wish);
  if (style === undefined) return prompt;
  const styled = `${prompt}\n\nStyle: ${style}.`;
  return !isV2(model) && lengthOf(styled) > mostPromptV1 ? prompt : styled;
}

/** The body of `POST /v1/video_generation` or `POST /v2/video_generation`; `urls` are those of the caller's pictures and then the characters'. */
export function bodyOf(job: Wish, urls: string[]): Record<string, unknown> {
  const pictures = urls.map((url, at) => {
    const role = job.images[at]?.role ?? "reference";
    return { role: role === "reference" ? "reference_image" : role, url };
  });
  const { model, duration, resolution, watermark, promptOptimizer, size } = job;
  const common = { model, duration, ...(watermark !== undefined && { aigc_watermark: watermark }) };
  if (!isV2(model))
    return {
      ...common,
      prompt: promptOf(job),
      ...(resolution !== undefined && { resolution: resolution.toUpperCase() }),
      ...(promptOptimizer !== undefined && { prompt_optimizer: promptOptimizer }),
      ...Object.fromEntries(pictures.map(({ role, url }) => [`${role}_image`, url])),
    };
  return {
    ...common,
    content: [{ type: "text", text: promptOf(job) }, ...pictures.map(({ role, url }) => ({ type: "image_url", image_url: { url }, role }))],
    resolution: (resolution ?? plainResolution).toUpperCase(),
    // Frames decide it themselves.
    ...(size !== undefined && !framesOf(job).hasFirst && { ratio: size }),
  };
}
