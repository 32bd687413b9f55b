/** `images/generations` and `images/edits`: submits, waits until the images are completed, and answers with their URLs or their bytes. */

import type { AppContext } from "./context.ts";
import type { DryRun } from "../client.ts";
import { imagePixels } from "../../catalog/fields.ts";
import { type NamedModel, resolveModel } from "./aliases.ts";
import { refuseField } from "./errors.ts";
import { type Fields, isForm, readFields, sendForm, toImagesBody } from "./form.ts";
import { answerImages, type Made } from "./image-answer.ts";
import { sendBody, sendJson } from "./large-json.ts";
import { type Identify, submitOnce } from "./once.ts";
import { awaitSubmitted, isDryRun, ownFields, reportDropped, toImageUrl, withDryRun, withOwnNames } from "./submission.ts";

const submissions = "/v1/images/generations";

/** The ratio for each size: OpenAI's sizes are the ratios' widths and heights in pixels, and a ratio is itself. */
const ratios = new Map(
  Object.entries(imagePixels).flatMap(([ratio, [width, height]]) => [
    [`${width}x${height}`, ratio],
    [ratio, ratio],
  ]),
);
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
    if (fields[name] !== undefined && !values.includes(fields[name]))
      throw values.length === 0 ? refuseField(c, name, "not_supported") : refuseField(c, name, "not_equal", { allowed: values.join(", ") });
  const model = named(c, fields);
  const size = word("size", [...ratios.keys(), "auto"]);
  const quality = word("quality", Object.keys(qualities));
  const format = word("response_format", ["url", "b64_json"]);
  const outputFormat = word("output_format", ["png", "jpeg", "webp"]);
  const background = word("background", ["auto", "opaque", "transparent"]);
  return {
    body: {
      model: model.model,
      prompt: fields["prompt"],
      // OpenAI's clients send it as an extra field: for a model with its own input, whose body has no other fields.
      input: fields["input"],
      n: fields["n"],
      ...(size !== undefined && size !== "auto" && { size: ratios.get(size) }),
      ...(quality !== undefined && { quality: qualities[quality] }),
      ...(outputFormat !== undefined && { output_format: outputFormat }),
      ...(background !== undefined && background !== "auto" && { background }),
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

/** The submission of a batch's line. Its results name URLs: a file with the bytes of all images would be too large. Throws 400. */
export function toImageLine(c: AppContext, fields: Fields): Fields {
  if (fields["response_format"] === "b64_json") throw refuseField(c, "response_format", "not_equal", { allowed: "url" });
  return toSubmission(c, fields).body;
}

export const generateImages = (c: AppContext): Promise<Response> =>
  makeImages(c, async (identify, convert) => {
    const body = convert(await readFields(c));
    return sendBody(c, { path: withDryRun(c, submissions), identify }, body);
  });

/** OpenAI's edits are submitted as generations with input images. */
export const editImages = (c: AppContext): Promise<Response> =>
  makeImages(c, (identify, convert) => {
    const path = withDryRun(c, submissions);
    if (!isForm(c))
      return sendJson(c, {
        path,
        identify,
        imageFields: ["images", "image"],
        toBody: async ({ images, image, ...fields }) => ({ ...convert(fields), images: readImages(c, images ?? image) }),
      });
    return sendForm(c, {
      path,
      identify,
      isFile: (name) => name === "image",
      async toRequest({ fields, files }) {
        if (files.length === 0) throw refuseField(c, "image", "required");
        return { body: toImagesBody(c, files, convert(fields)) };
      },
    });
  });

/** Makes images whose fields are known only when `send` has read its body. `convert` builds the submission from them. */
async function makeImages(
  c: AppContext,
  send: (identify: Identify, convert: (fields: Fields) => Fields) => Promise<Response>,
): Promise<Response> {
  let format: Asked["format"] = "url";
  const convert = (fields: Fields) => {
    const asked = toSubmission(c, fields);
    format = asked.format;
    reportDropped(
      c,
      Object.keys(fields).filter((name) => dropped.has(name)),
    );
    return asked.body;
  };
  const made = await submitOnce(c, async (identify) => awaitImages(c, await send(identify, convert).catch(withOwnNames(c))));
  return answerImages(c, made, format);
}

/** Accepts `[{image_url}]`, `[{file_id}]` or a list of URLs and ids. */
function readImages(c: AppContext, given: unknown): string[] {
  const list = Array.isArray(given) ? given : given === undefined ? [] : [given];
  if (list.length === 0) throw refuseField(c, "images", "required");
  return list.map((item: unknown, at) => {
    const url = toImageUrl(item);
    if (typeof url !== "string") throw refuseField(c, `images[${at}]`, "not_supported");
    return url;
  });
}

async function awaitImages(c: AppContext, sent: Response): Promise<Made | DryRun> {
  const task = await awaitSubmitted(c, sent);
  if (isDryRun(task)) return task;
  return { created: task.created_at, urls: (task.result?.images ?? []).flatMap(({ url }) => url) };
}
