/** The rules of MiniMax's two video submissions; each violation has its message. */

export type Body = Record<string, unknown>;

const modelsV1 = new Set<unknown>(["MiniMax-Hailuo-02", "MiniMax-Hailuo-2.3", "MiniMax-Hailuo-2.3-Fast"]);
const fieldsV1 = [
  "model",
  "prompt",
  "duration",
  "resolution",
  "first_frame_image",
  "last_frame_image",
  "prompt_optimizer",
  "fast_pretreatment",
  "aigc_watermark",
  "callback_url",
];

const isImage = (value: unknown) =>
  typeof value === "string" && /^(?:https?:\/\/|data:image\/(?:jpeg|png|webp);base64,[\w+/]+=*$)/.test(value);
const unknownField = (body: Body, known: string[]) => Object.keys(body).find((name) => !known.includes(name));
const wrongFlag = (body: Body, names: string[]) => names.find((name) => body[name] !== undefined && typeof body[name] !== "boolean");

/** The reason why `POST /v1/video_generation` refuses this; undefined if it accepts it. */
export function checkV1(body: Body): string | undefined {
  const { model, prompt, duration = 6, resolution = "768P", first_frame_image: first, last_frame_image: last } = body;
  const stranger = unknownField(body, fieldsV1);
  if (stranger !== undefined) return `unknown field ${stranger}`;
  if (!modelsV1.has(model)) return "unsupported model";
  if (typeof prompt !== "string" || prompt === "") return "prompt is required";
  if (Array.from(prompt).length > 2000) return "prompt is too long";
  if (first !== undefined && !isImage(first)) return "first_frame_image";
  if (last !== undefined && !isImage(last)) return "last_frame_image";
  if (last !== undefined && (first === undefined || model !== "MiniMax-Hailuo-02")) return "last_frame_image";
  if (model === "MiniMax-Hailuo-2.3-Fast" && first === undefined) return "first_frame_image is required";
  if (duration !== 6 && duration !== 10) return "duration";
  const resolutions =
    model !== "MiniMax-Hailuo-02" || first === undefined || last !== undefined ? ["768P", "1080P"] : ["512P", "768P", "1080P"];
  if (!resolutions.includes(resolution as string)) return "resolution";
  if (resolution === "1080P" && duration === 10) return "model does not support this duration at 1080P";
  return wrongFlag(body, ["prompt_optimizer", "fast_pretreatment", "aigc_watermark"]);
}

interface Item {
  type?: unknown;
  text?: unknown;
  image_url?: { url?: unknown };
  role?: unknown;
}

const readItems = (body: Body) => (Array.isArray(body["content"]) ? (body["content"] as Item[]) : []);

export function promptOfV2(body: Body): string {
  const text = readItems(body).find(({ type }) => type === "text")?.text;
  return typeof text === "string" ? text : "";
}

/** The reason why `POST /v2/video_generation` refuses this; undefined if it accepts it. */
export function checkV2(body: Body): string | undefined {
  const { model, duration, resolution, ratio } = body;
  const stranger = unknownField(body, ["model", "content", "resolution", "duration", "ratio", "aigc_watermark", "callback_url"]);
  if (stranger !== undefined) return `unknown field ${stranger}`;
  const isMax = model === "MiniMax-H3-Max" || model === "MiniMax-H3-Max-Turbo";
  if (model !== "MiniMax-H3" && !isMax) return "unsupported model";
  // docs.comfy.org, MinimaxHailuo03FirstLastFrameNode.
  if (isMax && body["aigc_watermark"] !== undefined) return "aigc_watermark";
  const items = readItems(body);
  if (promptOfV2(body).trim() === "") return "content must include a non-empty text item (prompt is required)";
  const images = items.filter(({ type }) => type === "image_url");
  if (items.length !== images.length + 1) return "content";
  if (!images.every(({ image_url: image }) => isImage(image?.url))) return "image_url";
  const count = (role: string) => images.filter((image) => image.role === role).length;
  const [first, last, references] = [count("first_frame"), count("last_frame"), count("reference_image")];
  if (first + last + references !== images.length || first > 1 || last > 1) return "role";
  if (references > 0 && (first + last > 0 || isMax || references > 9)) return "reference_image";
  if (!(isMax ? ["480P", "768P"] : ["768P", "2K"]).includes(resolution as string)) return "resolution";
  if (typeof duration !== "number" || !Number.isInteger(duration) || duration < (isMax ? 5 : 4) || duration > 15) return "duration";
  if (ratio !== undefined && !["adaptive", "21:9", "16:9", "4:3", "1:1", "3:4", "9:16"].includes(ratio as string)) return "ratio";
  if (images.length === 0 && (ratio === undefined || ratio === "adaptive")) return "ratio is required";
  return wrongFlag(body, ["aigc_watermark"]);
}
