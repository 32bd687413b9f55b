/** The input of each emulated model, from Cloudflare's catalogue (cloudflare-docs `catalog-models/*.json`). */

type Check = (value: unknown) => boolean;

export interface Schema {
  required: string[];
  fields: Record<string, Check>;
  /** Unknown fields are accepted. */
  open?: boolean;
  makes: "image" | "video" | "audio";
  /** The name of the result's field. */
  result: "image" | "images" | "video" | "hailuo" | "h3" | "base64" | "audio" | "stream";
}

const text: Check = (value) => typeof value === "string" && value !== "";
const short: Check = (value) => text(value) && (value as string).length <= 2000;
const flag: Check = (value) => typeof value === "boolean";
const oneOf =
  (...values: unknown[]): Check =>
  (value) =>
    values.includes(value);
const whole =
  (least: number, most: number): Check =>
  (value) =>
    Number.isInteger(value) && (value as number) >= least && (value as number) <= most;
const list =
  (most: number, check: Check): Check =>
  (value) =>
    Array.isArray(value) && value.length > 0 && value.length <= most && value.every(check);

const isBase64 = (value: string) => /^[A-Za-z0-9+/]+={0,2}$/.test(value) && value.length % 4 === 0;
const bare: Check = (value) => typeof value === "string" && isBase64(value);
const dataUri: Check = (value) =>
  typeof value === "string" && /^data:image\/(?:png|jpeg|webp);base64,/.test(value) && isBase64(value.slice(value.indexOf(",") + 1));
const address: Check = (value) => dataUri(value) || (typeof value === "string" && /^https?:\/\//.test(value));

const imageRatios = ["1:1", "4:3", "3:4", "16:9", "9:16", "3:2", "2:3", "21:9", "match_input_image"];
const videoRatios = ["16:9", "4:3", "1:1", "3:4", "9:16", "21:9"];

const seedance = (resolutions: string[], most: number): Schema => ({
  required: ["prompt", "duration", "resolution", "aspect_ratio", "fps", "camera_fixed", "watermark"],
  fields: {
    prompt: short,
    image: address,
    last_frame_image: address,
    reference_images: list(4, address),
    duration: whole(4, most),
    resolution: oneOf(...resolutions),
    aspect_ratio: oneOf(...videoRatios),
    fps: oneOf(24),
    camera_fixed: flag,
    generate_audio: flag,
    watermark: flag,
    seed: Number.isInteger,
  },
  makes: "video",
  result: "video",
});

const veo: Schema = {
  required: ["prompt", "duration", "aspect_ratio", "resolution", "generate_audio"],
  fields: {
    prompt: text,
    image_input: bare,
    duration: oneOf("4s", "6s", "8s"),
    aspect_ratio: oneOf("16:9", "9:16", "1:1"),
    resolution: oneOf("720p", "1080p"),
    generate_audio: flag,
  },
  makes: "video",
  result: "video",
};

const kling: Schema = {
  required: ["prompt", "duration", "aspect_ratio", "sound"],
  fields: {
    prompt: (value) => text(value) && (value as string).length <= 2500,
    negative_prompt: text,
    image_input: bare,
    duration: whole(3, 15),
    aspect_ratio: oneOf("16:9", "9:16", "1:1"),
    sound: oneOf("on", "off"),
  },
  makes: "video",
  result: "video",
};

const wan: Schema = {
  required: ["prompt"],
  fields: {
    prompt: (value) => text(value) && (value as string).length <= 2500,
    resolution: oneOf("480P", "720P", "1080P"),
    ratio: oneOf("adaptive", "16:9", "9:16", "1:1", "4:3", "3:4"),
    duration: whole(1, 15),
  },
  makes: "video",
  result: "video",
};

const isH3Part: Check = (value) => {
  const {
    type,
    text: words,
    image_url: image,
    role,
  } = value as { type?: string; text?: string; image_url?: { url?: string }; role?: string };
  if (type === "text") return text(words) && words!.length <= 7000;
  return type === "image_url" && address(image?.url) && oneOf("first_frame", "last_frame", "reference_image", undefined)(role);
};

const image = (result: Schema["result"], fields: Record<string, Check>, open = false): Schema => ({
  required: ["prompt"],
  fields: { prompt: text, ...fields },
  makes: "image",
  result,
  open,
});

export const schemas: Record<string, Schema> = {
  "@cf/myshell-ai/melotts": { required: ["prompt"], fields: { prompt: text, lang: text }, makes: "audio", result: "audio" },
  "bytedance/seedream-4.0": image("image", {
    size: oneOf("1K", "2K", "4K", "custom"),
    aspect_ratio: oneOf(...imageRatios),
    width: whole(1024, 4096),
    height: whole(1024, 4096),
    enhance_prompt: flag,
  }),
  "bytedance/seedream-4.5": image("images", {
    size: oneOf("2K", "4K"),
    aspect_ratio: oneOf(...imageRatios),
    image_input: list(14, address),
    max_images: whole(1, 15),
    sequential_image_generation: oneOf("disabled", "auto"),
  }),
  "bytedance/seedream-5-lite": image("images", {
    size: oneOf("2K", "3K"),
    aspect_ratio: oneOf(...imageRatios),
    image_input: list(14, address),
    max_images: whole(1, 15),
    sequential_image_generation: oneOf("disabled", "auto"),
    output_format: oneOf("png", "jpeg"),
  }),
  "bytedance/seedream-5-pro": image("images", {
    size: (value) => /^(?:[12]K|\d{4}x\d{4})$/.test(value as string),
    image: (value) => text(value) || list(10, address)(value),
  }),
  "openai/gpt-image-2": image(
    "image",
    {
      images: list(16, (value) => bare(value) || dataUri(value)),
      quality: oneOf("low", "medium", "high", "auto"),
      size: oneOf("1024x1024", "1024x1536", "1536x1024", "auto"),
      background: oneOf("transparent", "opaque", "auto"),
      output_format: oneOf("png", "webp", "jpeg"),
    },
    true,
  ),
  "google/nano-banana-pro": image("image", {
    image_input: list(3, text),
    aspect_ratio: oneOf("1:1", "3:2", "2:3", "3:4", "4:3", "4:5", "5:4", "9:16", "16:9", "21:9"),
    image_size: oneOf("1K", "2K", "4K"),
    output_format: oneOf("jpg", "png", "webp"),
  }),
  "@cf/black-forest-labs/flux-1-schnell": image("base64", { steps: whole(1, 8), seed: Number.isInteger }),
  "@cf/leonardo/lucid-origin": image("base64", { width: whole(256, 2500), height: whole(256, 2500), guidance: Number.isFinite }),
  "@cf/bytedance/stable-diffusion-xl-lightning": image("stream", { width: whole(256, 2048), height: whole(256, 2048) }),
  "google/veo-3.1": veo,
  "google/veo-3.1-fast": veo,
  "bytedance/seedance-2.0": seedance(["480p", "720p", "1080p", "4k"], 12),
  "bytedance/seedance-2.0-fast": seedance(["480p", "720p"], 12),
  "bytedance/seedance-2.5": seedance(["480p", "720p"], 30),
  "klingai/kling-v3": kling,
  "klingai/kling-v3-omni": kling,
  "alibaba/wan-3.0": wan,
  "alibaba/wan-3.0-prime": wan,
  "minimax/hailuo-2.3": {
    required: ["prompt_optimizer", "fast_pretreatment", "duration", "resolution"],
    fields: {
      prompt: short,
      first_frame_image: address,
      prompt_optimizer: flag,
      fast_pretreatment: flag,
      duration: oneOf(6, 10),
      resolution: oneOf("768P", "1080P"),
    },
    makes: "video",
    result: "hailuo",
  },
  "minimax/h3": {
    required: ["content", "resolution", "duration"],
    fields: {
      content: list(20, isH3Part),
      resolution: oneOf("768P", "2K"),
      duration: whole(4, 15),
      ratio: oneOf("adaptive", ...videoRatios),
    },
    makes: "video",
    result: "h3",
  },
};

/** The fault of an input, or undefined. */
export function wrongWith(schema: Schema, input: Record<string, unknown>): string | undefined {
  for (const name of schema.required) if (!(name in input)) return `required property '${name}' is missing`;
  for (const [name, value] of Object.entries(input)) {
    const check = schema.fields[name];
    if (!check && !schema.open) return `must NOT have additional property '${name}'`;
    if (check && !check(value)) return `'${name}' is not valid`;
  }
  const { image, last_frame_image: last, reference_images: references, resolution } = input;
  if (last !== undefined && image === undefined) return "last_frame_image needs image";
  if (references !== undefined && (image !== undefined || resolution === "1080p")) return "reference_images cannot be used here";
  if (input["resolution"] === "1080P" && input["duration"] === 10) return "1080P has six seconds";
  return undefined;
}
