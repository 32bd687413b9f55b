/** `images/generations` and `images/edits`: submits, waits until the images are completed, and answers with their URLs or their bytes. */

import { imagePixels } from "../catalog/fields.ts";
import { type NamedModel, resolveModel } from "./aliases.ts";
import { ask } from "./ask.ts";
import { refuseField, renameField } from "./errors.ts";
import { type Fields, formIdentity, isForm, readFields, sendForm, toImagesBody } from "./form.ts";
import { answerImages, type Made } from "./image-answer.ts";
import { sendLargeJson } from "./large-json.ts";
import { once } from "./once.ts";
import type { AppContext } from "./paths.ts";
import { type DryRun, isDryRun, ownFields, withDryRun } from "./submission.ts";
import { awaitSubmitted, tellDropped } from "./task.ts";
import { isLarge } from "./turns.ts";

const submissions = "/v1/images/generations";

/** The ratio for each size of OpenAI, which is the ratio's width and height in pixels. */
const ratios = new Map(Object.entries(imagePixels).map(([ratio, [width, height]]) => [`${width}x${height}`, ratio]));
const qualities: Record<string, string> = {
  standard: "standard",
  hd: "hd",
  low: "standard",
  medium: "standard",
  auto: "standard",
  high: "hd",
};
/** Fields without an effect on the price: accepted, not sent, and named in `x-dropped-params`. */
const dropped = new Set(["user", "style", "moderation", "safety_identifier", "input_fidelity"]);
/** Other fields of OpenAI, each with the values that do not change the output; other values are refused. */
const neutral: Record<string, unknown[]> = {
  background: ["auto", "opaque"],
  output_format: ["png"],
  output_compression: [100],
  partial_images: [0],
  stream: [false],
  mask: [],
};

/** The converted request: the submission's body, and the requested format of the answer. */
interface Asked {
  body: Fields;
  format: "url" | "b64_json";
}

/** Converts a request's fields to a submission. Throws 400. */
function toSubmission(c: AppContext, fields: Fields): Asked {
  const word = (name: string, words: readonly string[]) => {
    const value = fields[name];
    if (value !== undefined && !(typeof value === "string" && words.includes(value)))
      throw refuseField(c, name, "not_one_of", { allowed: words.join(", ") });
    return value;
  };
  for (const [name, values] of Object.entries(neutral))
    if (fields[name] !== undefined && !values.includes(fields[name])) throw refuseField(c, name, "not_supported");
  const model = named(c, fields);
  const size = word("size", [...ratios.keys(), "auto"]);
  const quality = word("quality", Object.keys(qualities));
  const format = word("response_format", ["url", "b64_json"]);
  return {
    body: {
      model: model.model,
      prompt: fields["prompt"],
      n: fields["n"],
      ...(size !== undefined && size !== "auto" && { size: ratios.get(size) }),
      ...(quality !== undefined && { quality: qualities[quality] }),
      ...(model.isAlias && { requested_model: model.asked }),
      ...ownFields(c, fields),
    },
    format: (format ?? (/^(?:chatgpt|gpt)-image-/.test(model.asked) ? "b64_json" : "url")) as Asked["format"],
  };
}

/** The requested model; OpenAI's default if none is given. */
function named(c: AppContext, { model = "dall-e-3" }: Fields): NamedModel {
  if (typeof model !== "string") throw refuseField(c, "model", "wrong_type", { expected: "string" });
  return resolveModel(c.env, model);
}

const rename = renameField((param) => (param === "reference" ? "X-Client-Request-Id" : param));

const isTaken = (name: string) => dropped.has(name);

export async function generateImages(c: AppContext): Promise<Response> {
  const fields = await readFields(c);
  const { body, format } = toSubmission(c, fields);
  tellDropped(c, Object.keys(fields).filter(isTaken));
  const made = await once(c, JSON.stringify(body), (headers) => submit(c, body, headers));
  return answerImages(c, made, format);
}

/** OpenAI's edits are submitted as generations with input images. */
export async function editImages(c: AppContext): Promise<Response> {
  if (isForm(c)) return editForm(c);
  if (isLarge(c)) return editLarge(c);
  const { images, image, ...fields } = await readFields(c);
  const { body, format } = toSubmission(c, fields);
  const all = { ...body, images: readPictures(c, images ?? image) };
  tellDropped(c, Object.keys(fields).filter(isTaken));
  const made = await once(c, JSON.stringify(all), (headers) => submit(c, all, headers));
  return answerImages(c, made, format);
}

const submit = async (c: AppContext, body: object, headers: Record<string, string>) =>
  awaitImages(c, await ask(c, withDryRun(c, submissions), { body, headers }).catch(rename));

async function editForm(c: AppContext): Promise<Response> {
  let format: Asked["format"] = "url";
  const made = await once(c, formIdentity(c), async (headers) => {
    const sent = await sendForm(c, {
      path: withDryRun(c, submissions),
      isFile: (name) => name === "image",
      async toRequest({ fields, files }) {
        if (files.length === 0) throw refuseField(c, "image", "required");
        const asked = toSubmission(c, fields);
        format = asked.format;
        tellDropped(c, Object.keys(fields).filter(isTaken));
        return { headers, body: toImagesBody(c, files, asked.body) };
      },
    }).catch(rename);
    return awaitImages(c, sent);
  });
  return answerImages(c, made, format);
}

/** The same for JSON, without holding the images in memory several times. */
async function editLarge(c: AppContext): Promise<Response> {
  let format: Asked["format"] = "url";
  const made = await once(c, formIdentity(c), async (headers) => {
    const sent = await sendLargeJson(c, {
      path: withDryRun(c, submissions),
      headers,
      field: "images",
      isPictureAt: ([field]) => field === "images" || field === "image",
      async toBody({ images, image, ...fields }) {
        const asked = toSubmission(c, fields);
        format = asked.format;
        tellDropped(c, Object.keys(fields).filter(isTaken));
        return { ...asked.body, images: readPictures(c, images ?? image) };
      },
    }).catch(rename);
    return awaitImages(c, sent);
  });
  return answerImages(c, made, format);
}

/** Accepts `[{image_url}]` or a list of URLs. File ids are not supported. */
function readPictures(c: AppContext, given: unknown): string[] {
  const list = Array.isArray(given) ? given : given === undefined ? [] : [given];
  if (list.length === 0) throw refuseField(c, "images", "required");
  return list.map((item: unknown, at) => {
    const url: unknown = typeof item === "object" && item !== null && "image_url" in item ? item.image_url : item;
    if (typeof url !== "string") throw refuseField(c, `images[${at}]`, "not_supported");
    return url;
  });
}

async function awaitImages(c: AppContext, sent: Response): Promise<Made | DryRun> {
  const task = await awaitSubmitted(c, sent);
  if (isDryRun(task)) return task;
  return { created: task.created_at, urls: (task.result?.images ?? []).flatMap(({ url }) => url) };
}
