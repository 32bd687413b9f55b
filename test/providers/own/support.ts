/** Entries of models with their own input, for tests of every upstream that takes one. */

import { asAdmin } from "../../support/gateway.ts";

export const put = (id: string, body: object, query = "") => asAdmin(`/models/${id}${query}`, { method: "PUT", body });

/** Kling at fal: a video priced by its seconds, which are words, and twice as much with sound. */
export const kling = {
  kind: "video",
  aliases: ["kling-latest"],
  body: {
    type: "object",
    title: "KlingInput",
    properties: {
      prompt: { type: "string", maxLength: 2500, description: "What happens" },
      duration: { $ref: "#/$defs/Duration", default: "5" },
      aspect_ratio: { type: "string", enum: ["16:9", "9:16", "1:1"], default: "16:9" },
      generate_audio: { type: "boolean", default: false },
    },
    required: ["prompt"],
    $defs: { Duration: { type: "string", enum: ["3", "5", "10"] } },
  },
  price: { second: 0.1, seconds: "duration", factors: { generate_audio: { true: 2, false: 1 } } },
  typical_seconds: 90,
  routes: [{ provider: "fal", model: "fal-ai/kling-video/v3/pro/text-to-video" }],
};

/** Seedream at fal: images, priced by their number. */
export const seedream = {
  kind: "image",
  body: {
    type: "object",
    properties: {
      prompt: { type: "string" },
      image_size: {
        anyOf: [
          { type: "string", enum: ["square", "portrait_4_3"] },
          {
            type: "object",
            properties: {
              width: { type: "integer", minimum: 960, maximum: 4096 },
              height: { type: "integer", minimum: 960, maximum: 4096 },
            },
            required: ["width", "height"],
          },
        ],
      },
      num_images: { type: "integer", minimum: 1, maximum: 6, default: 1 },
      image_urls: { type: "array", items: { type: "string", format: "uri" }, maxItems: 10 },
    },
    required: ["prompt"],
  },
  price: { image: 0.03, count: "num_images" },
  routes: [{ provider: "fal", model: "fal-ai/bytedance/seedream/v4/edit" }],
};

/** Speech at fal: a file, at one price. */
export const speech = {
  kind: "file",
  body: {
    type: "object",
    properties: {
      text: { type: "string", maxLength: 5000, minLength: 1 },
      voice: { anyOf: [{ type: "string", enum: ["Rachel", "Aria"] }, { type: "null" }], default: "Rachel" },
      stability: { type: "number", minimum: 0, maximum: 1 },
    },
    required: ["text"],
  },
  price: { task: 0.05 },
  routes: [{ provider: "fal", model: "fal-ai/elevenlabs/tts/multilingual-v2" }],
};

/** A 3D object of an image at fal. */
export const mesh = {
  kind: "file",
  body: {
    type: "object",
    properties: { input_image_url: { type: "string" }, textured_mesh: { type: "boolean", default: false }, seed: { type: "integer" } },
    required: ["input_image_url"],
  },
  price: { task: 0.16, factors: { textured_mesh: { true: 3, "*": 1 } } },
  routes: [{ provider: "fal", model: "fal-ai/hunyuan3d/v2" }],
};

/** The fields that an error names. */
export const params = (answer: { body: { error: { details: { param: string }[] } } }) =>
  answer.body.error.details.map(({ param }) => param);
