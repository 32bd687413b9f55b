/** The schemas of image and video submissions, one for each mode of the interface (4.2 to 4.4), built when first used. */

import * as z from "zod/mini";
import { flag, imagePixels, images, imagesWithRoles, imageUrl, prompt, seconds, size, timestamps, word } from "./fields.ts";
import { once } from "../base/once.ts";

/** The longest prompt, in Unicode code points. */
export const maxPrompt = { image: 1000, video: 4000 };

const videoPrompt = once(() => prompt(maxPrompt.video));
/** `metadata` may be missing completely; its defaults apply then too. */
const metadata = <T extends z.core.$ZodLooseShape>(shape: T) => z.prefault(z.object(shape), {} as never);

/** imgA, imgB, imgC */
export const image = once(() =>
  z.object({
    prompt: prompt(maxPrompt.image),
    size: size(Object.keys(imagePixels)),
    n: z._default(z.int().check(z.gte(1), z.lte(4)), 1),
    quality: z._default(z.enum(["standard", "hd"]), "standard"),
    images: images(5),
  }),
);

/** Mode A */
export const vidA = (durations: readonly number[]) =>
  once(() =>
    z.object({
      prompt: videoPrompt(),
      duration: seconds(durations, 10),
      size: size(["16:9", "9:16", "1:1"]),
      images: images(4),
      image_with_roles: imagesWithRoles(4, { isEither: true }),
      metadata: metadata({
        style: word(["comic", "news", "anime", "selfie", "nostalgic", "thanksgiving"]),
        watermark: z._default(z.boolean(), false),
        private: flag(),
        storyboard: flag(),
        thumbnail: flag(),
      }),
    }),
  );

/** Mode B: exactly one of url and from_task, which `crossRules` checks. */
export const characterBody = once(() =>
  z.object({
    url: z.optional(z.string().check(z.meta({ description: "URL of a video that contains the character, or id of a file (file_...)" }))),
    from_task: z.optional(z.string()),
    timestamps: timestamps(),
  }),
);

/** Mode C */
export const vidB = once(() =>
  z.object({
    prompt: videoPrompt(),
    duration: seconds([8], 8),
    size: size(["16:9", "9:16"]),
    images: images(3),
    image_with_roles: imagesWithRoles(3, { isEither: true }),
  }),
);

/** Mode D */
export const vidC = once(() =>
  z.object({
    prompt: videoPrompt(),
    duration: z._default(z.int().check(z.gte(2), z.lte(12)), 5),
    size: size(["16:9", "9:16", "1:1", "4:3", "3:4", "21:9"]),
    images: images(4),
    image_with_roles: imagesWithRoles(4),
    metadata: metadata({ resolution: z._default(z.enum(["480p", "720p", "1080p"]), "720p") }),
  }),
);

/** Mode E */
export const vidD = once(() =>
  z.object({
    prompt: videoPrompt(),
    duration: seconds([5, 10], 5),
    size: size(["16:9", "9:16"]),
    metadata: metadata({
      resolution: z._default(z.enum(["512p", "768p", "1080p"]), "768p"),
      first_frame_image: imageUrl(),
      last_frame_image: imageUrl(),
      prompt_optimizer: flag(),
      watermark: flag(),
    }),
  }),
);

/** Remix of an earlier video */
export const remix = (durations: readonly number[], fallback: number) =>
  once(() =>
    z.object({
      prompt: videoPrompt(),
      size: size(["16:9", "9:16", "1:1"]),
      duration: seconds(durations, fallback),
    }),
  );

/** The fields that all videos have: used to report other violations if the model is unknown. */
export const anyVideo = once(() => z.object({ prompt: videoPrompt() }));
