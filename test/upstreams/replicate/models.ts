/** The input schemas of the emulated Replicate's models, from their pages `replicate.com/{owner}/{name}/versions/…/api`. */

export type Input = Record<string, unknown>;

/** The values of a field: one of a list, a whole number in a range, a boolean, text, a file, a list of at most some files. */
type Rule = { one: unknown[] } | { least: number; most: number } | "boolean" | "text" | "file" | { files: number };

export interface ReplicateModel {
  makes: "image" | "video" | "audio";
  /** The field with the text that it works on; `prompt` by default. */
  named?: string;
  output: "string" | "array";
  fields: Record<string, Rule>;
  /** Rules between fields. */
  cross?(input: Input): string | undefined;
  required?: string[];
}

const ratios = { one: ["match_input_image", "1:1", "4:3", "3:4", "16:9", "9:16", "3:2", "2:3", "21:9"] };
const videoRatios = { one: ["16:9", "4:3", "1:1", "3:4", "9:16", "21:9", "9:21", "adaptive"] };
const resolutions = { one: ["480p", "720p", "1080p"] };
const seed = { least: 0, most: 2 ** 32 };

const seedream = (sizes: string[]): ReplicateModel => ({
  makes: "image",
  output: "array",
  fields: {
    size: { one: sizes },
    aspect_ratio: ratios,
    image_input: { files: 14 },
    sequential_image_generation: { one: ["disabled", "auto"] },
    max_images: { least: 1, most: 15 },
  },
});

const banana = (more: ReplicateModel["fields"]): ReplicateModel => ({
  makes: "image",
  output: "string",
  fields: { aspect_ratio: ratios, image_input: { files: 14 }, output_format: { one: ["jpg", "png"] }, ...more },
});

const seedance = (more: ReplicateModel["fields"], least = 2, most = 12): ReplicateModel => ({
  makes: "video",
  output: "string",
  fields: {
    duration: { least, most },
    resolution: resolutions,
    aspect_ratio: videoRatios,
    image: "file",
    fps: { one: [24] },
    camera_fixed: "boolean",
    seed,
    ...more,
  },
  cross: ({ image, last_frame_image: last, reference_images: references, resolution }) =>
    last !== undefined && image === undefined
      ? "last_frame_image: only works if a start frame is given too"
      : references !== undefined && (image !== undefined || last !== undefined || resolution === "1080p")
        ? "reference_images: cannot be used with 1080p or with first or last frame images"
        : undefined,
});

const hailuo = (more: ReplicateModel["fields"], required: string[] = []): ReplicateModel => ({
  makes: "video",
  output: "string",
  fields: { duration: { one: [6, 10] }, prompt_optimizer: "boolean", first_frame_image: "file", ...more },
  required,
  cross: ({ prompt, duration, resolution }) =>
    String(prompt).length > 2000
      ? "prompt: at most 2,000 characters"
      : duration === 10 && resolution !== undefined && resolution !== "768p"
        ? "duration: 10 seconds is only available for 768p"
        : undefined,
});

const veo = (more: ReplicateModel["fields"]): ReplicateModel => ({
  makes: "video",
  output: "string",
  fields: {
    duration: { one: [4, 6, 8] },
    aspect_ratio: { one: ["16:9", "9:16"] },
    resolution: { one: ["720p", "1080p"] },
    image: "file",
    last_frame: "file",
    generate_audio: "boolean",
    negative_prompt: "text",
    seed,
    ...more,
  },
  cross: ({ reference_images: references, aspect_ratio: ratio, duration }) =>
    references !== undefined && (ratio !== "16:9" || duration !== 8) ? "reference_images: only with 16:9 and 8 seconds" : undefined,
});

export const replicateModels: Record<string, ReplicateModel> = {
  "bytedance/seedream-4": seedream(["1K", "2K", "4K"]),
  "bytedance/seedream-4.5": seedream(["2K", "4K"]),
  "bytedance/seedream-5-lite": seedream(["2K", "3K"]),
  "google/nano-banana": banana({}),
  "google/nano-banana-pro": banana({ resolution: { one: ["1K", "2K", "4K"] } }),
  "openai/gpt-image-2": {
    makes: "image",
    output: "array",
    fields: {
      aspect_ratio: { one: ["1:1", "3:2", "2:3", "4:3", "3:4", "16:9", "9:16"] },
      quality: { one: ["low", "medium", "high", "auto"] },
      input_images: { files: 10 },
      number_of_images: { least: 1, most: 10 },
      output_format: { one: ["webp", "png", "jpeg"] },
    },
  },
  "bytedance/seedance-1-pro": seedance({ last_frame_image: "file" }),
  "bytedance/seedance-1-lite": seedance({ last_frame_image: "file", reference_images: { files: 4 } }),
  "bytedance/seedance-2.0": seedance({ last_frame_image: "file", reference_images: { files: 9 }, generate_audio: "boolean" }, -1, 15),
  "bytedance/seedance-2.0-fast": seedance(
    { last_frame_image: "file", reference_images: { files: 9 }, resolution: { one: ["480p", "720p"] } },
    -1,
    15,
  ),
  "minimax/hailuo-02": hailuo({ resolution: { one: ["512p", "768p", "1080p"] }, last_frame_image: "file" }),
  "minimax/hailuo-02-fast": hailuo({ go_fast: "boolean" }, ["first_frame_image"]),
  "minimax/hailuo-2.3": hailuo({ resolution: { one: ["768p", "1080p"] } }),
  "google/veo-3.1": veo({ reference_images: { files: 3 } }),
  "google/veo-3.1-fast": veo({}),
  "minimax/speech-02-hd": { makes: "audio", output: "string", named: "text", fields: { voice_id: "text", speed: { least: 0, most: 2 } } },
  // A user's own model, which adapters do not know.
  "someone/painter": { makes: "image", output: "string", fields: { aspect_ratio: ratios } },
};

const isFile = (value: unknown) =>
  typeof value === "string" && (/^https?:\/\/[^\s]+$/.test(value) || /^data:image\/[a-z]+;base64,[A-Za-z0-9+/]+=*$/.test(value));

function complaint(rule: Rule, value: unknown): string | undefined {
  if (rule === "boolean") return typeof value === "boolean" ? undefined : "Expected boolean";
  if (rule === "text") return typeof value === "string" ? undefined : "Expected string";
  if (rule === "file") return isFile(value) ? undefined : "Does not match format 'uri'";
  if ("one" in rule) return rule.one.includes(value) ? undefined : `Must be one of: ${rule.one.join(", ")}`;
  if ("files" in rule)
    return Array.isArray(value) && value.length > 0 && value.length <= rule.files && value.every(isFile) ? undefined : "Expected files";
  return Number.isInteger(value) && (value as number) >= rule.least && (value as number) <= rule.most ? undefined : "Out of range";
}

/** All faults of a request. Stricter than the real one, which ignores unknown fields. */
export function readProblems(model: ReplicateModel, body: unknown): string[] {
  if (typeof body !== "object" || body === null || !("input" in body)) return ["input: required"];
  const known = new Set(["input", "webhook", "webhook_events_filter"]);
  const input = body.input as Input;
  const { named = "prompt" } = model;
  const fields: ReplicateModel["fields"] = { [named]: "text", ...model.fields };
  const cross = model.cross?.(input);
  return [
    ...Object.keys(body).flatMap((name) => (known.has(name) ? [] : [`${name}: unknown`])),
    ...[named, ...(model.required ?? [])].flatMap((name) => (input[name] === undefined ? [`${name}: required`] : [])),
    ...Object.entries(input).flatMap(([name, value]) => {
      const rule = fields[name];
      const wrong = rule === undefined ? "unknown" : complaint(rule, value);
      return wrong === undefined ? [] : [`input.${name}: ${wrong}`];
    }),
    ...(cross === undefined ? [] : [cross]),
  ];
}
