/** `videos`: create, retrieve, list, delete, download, remix. Characters are in `characters.ts`. */

import type { AppContext } from "./context.ts";
import { builtInCatalog } from "../../catalog/catalog.ts";
import { type DryRun, filePath, isFinal, type ModelEntry, type Page, pickHeaders, toSegment, type TaskData } from "../client.ts";
import { type NamedModel, resolveModel } from "./aliases.ts";
import { defaultModel, submissions, withCharacters } from "./characters.ts";
import { OpenAiError, refuse, refuseField } from "./errors.ts";
import { type Fields, isForm, readFields, sendForm, toImagesBody } from "./form.ts";
import { sendBody, sendJson } from "./large-json.ts";
import { answerList, readPage } from "./lists.ts";
import { submitOnce } from "./once.ts";
import { answerDryRun, isDryRun, ownFields, toImageUrl, withDryRun, withOwnNames } from "./submission.ts";
import { renamed, sizes, toVideo } from "./video-view.ts";

/** OpenAI's defaults. */
const defaultSeconds = 4;
/** The interval after which polling clients query again. */
const pollAfterMs = "2000";

/** OpenAI's durations in seconds, accepted for every model for which a route supports exactly this duration. */
const openAiSeconds = [4, 8, 12];

/**
 * Rethrows an error with OpenAI's field names. The gateway's list of a model's durations lacks OpenAI's durations, which these paths add.
 */
const rename = (c: AppContext) => (error: unknown) => {
  const { param, allowed } = error instanceof OpenAiError ? error : { param: null };
  if (param === "duration" && Array.isArray(allowed)) throw refuseSeconds(c, allowed as number[]);
  return withOwnNames(c, renamed)(error);
};

function refuseSeconds(c: AppContext, own: number[] = []): OpenAiError {
  const all = [...new Set([...openAiSeconds, ...own])].sort((a, b) => a - b);
  return refuseField(c, "seconds", "not_one_of", { allowed: all.map((seconds) => `"${seconds}"`).join(", ") });
}

/** Converts a request's fields to a submission, without its image. Throws 400. */
function toSubmission(c: AppContext, fields: Fields): { body: Fields; model: NamedModel } {
  const { model: asked = defaultModel, prompt, size } = fields;
  if (typeof asked !== "string") throw refuseField(c, "model", "wrong_type", { expected: "string" });
  const model = resolveModel(c.env, asked);
  const duration = readSeconds(c, fields["seconds"]) ?? (model.isAlias ? defaultSeconds : undefined);
  if (typeof size === "string" && /^\d+x\d+$/.test(size) && !sizes[size])
    throw refuseField(c, "size", "not_one_of", { allowed: [...Object.keys(sizes), ...Object.values(sizes)].join(", ") });
  return {
    model,
    body: {
      model: model.model,
      prompt,
      ...(size !== undefined && { size: typeof size === "string" ? (Object.hasOwn(sizes, size) ? sizes[size] : size) : size }),
      ...(duration !== undefined && { duration }),
      ...(model.isAlias && { requested_model: model.asked }),
      ...ownFields(c, fields),
      metadata: { thumbnail: true },
    },
  };
}

/** OpenAI's `seconds` is a string. */
function readSeconds(c: AppContext, seconds: unknown): number | undefined {
  if (seconds === undefined) return undefined;
  const isText = typeof seconds === "string" || typeof seconds === "number";
  if (!isText || !/^[1-9]\d?$/.test(String(seconds))) throw refuseSeconds(c);
  return Number(seconds);
}

/** The submission with its first image in the field that the model uses for it. */
const withImage = async (c: AppContext, { body, model }: { body: Fields; model: NamedModel }, url: string): Promise<Fields> =>
  (await takesImages(c, model)) ? { ...body, images: [url] } : { ...body, metadata: { first_frame_image: url } };

/** True if the body of the model has `images`; of the others the first frame is in `metadata`. An operator's model may have the body of any, which its entry says. */
async function takesImages(c: AppContext, { model }: NamedModel): Promise<boolean> {
  if (builtInCatalog().named(model)) return !model.startsWith("vidD");
  const answer = await c.var.gateway.send(`/v1/models/${toSegment(model)}`);
  // The submission names what is wrong.
  if (!answer.ok) return (await answer.body?.cancel(), true);
  const { parameters } = await answer.json<ModelEntry>();
  const { metadata } = parameters.properties as { metadata?: { properties?: Record<string, unknown> } };
  return metadata?.properties?.["first_frame_image"] === undefined;
}

export async function createVideo(c: AppContext): Promise<Response> {
  const path = withDryRun(c, submissions);
  const sent = await submitOnce(c, (identify) => {
    if (!isForm(c)) return sendJson(c, { path, identify, imageFields: ["input_reference"], toBody: (fields) => toBody(c, fields) });
    return sendForm(c, {
      path,
      identify,
      isFile: (name) => name === "input_reference",
      async toRequest({ fields, files }) {
        const url = fields["input_reference[image_url]"] ?? fields["input_reference[file_id]"];
        const submission = toSubmission(c, await withCharacters(c, fields));
        if (files.length + Number(url !== undefined) > 1) throw refuseField(c, "input_reference", "too_big_list", { maximum: 1 });
        if (files.length > 0 && !(await takesImages(c, submission.model))) throw refuseField(c, "input_reference", "not_supported");
        const body = typeof url === "string" ? await withImage(c, submission, url) : submission.body;
        return { body: toImagesBody(c, files, body) };
      },
    });
  }).catch(rename(c));
  return answerSubmission(c, sent);
}

/** Builds the submission of a JSON body. Throws 400. */
export async function toBody(c: AppContext, { input_reference: image, ...fields }: Fields): Promise<Fields> {
  // OpenAI's clients send it as an extra field: for a model with its own input, whose body has no other fields.
  const { input, ...known } = fields;
  const submission = toSubmission(c, input === undefined ? await withCharacters(c, fields) : known);
  if (input !== undefined) {
    if (image !== undefined) throw refuseField(c, "input_reference", "not_supported");
    const { metadata: _, ...own } = submission.body;
    return { ...own, input };
  }
  const url = toImageUrl(image);
  if (image !== undefined && typeof url !== "string") throw refuseField(c, "input_reference", "not_supported");
  return url === undefined ? submission.body : withImage(c, submission, url as string);
}

/** OpenAI's remix has only a prompt: model, size and duration are those of its source. */
export async function remixVideo(c: AppContext): Promise<Response> {
  const { prompt, ...fields } = await readFields(c);
  const id = c.req.param("id") ?? "";
  const { model, metadata } = await readVideo(c, id);
  const body = {
    model,
    prompt,
    size: metadata.size === "auto" ? undefined : metadata.size,
    duration: metadata.duration,
    requested_model: metadata.requested_model,
    ...ownFields(c, fields),
  };
  const path = withDryRun(c, `/v1/videos/${toSegment(id)}/remix`);
  const sent = await submitOnce(c, (identify) => sendBody(c, { path, identify }, body)).catch(rename(c));
  return answerSubmission(c, sent);
}

async function answerSubmission(c: AppContext, sent: Response): Promise<Response> {
  const task = await sent.json<TaskData | DryRun>();
  if (isDryRun(task)) return answerDryRun(c, task);
  const replayed = sent.headers.get("idempotent-replayed");
  return c.json(toVideo(task), 200, {
    "openai-poll-after-ms": pollAfterMs,
    ...(replayed !== null && { "idempotent-replayed": replayed }),
  });
}

/** A video of the caller. Throws 404, also for a task of another kind. */
async function readVideo(c: AppContext, id: string): Promise<TaskData> {
  const task = await c.var.gateway.readTask(id).catch((error: unknown) => {
    throw error instanceof OpenAiError && error.status === 404 ? notFound(c) : error;
  });
  if (task.metadata.kind !== "video" && task.metadata.kind !== "remix") throw notFound(c);
  return task;
}

const notFound = (c: AppContext) => refuse(c, 404, "video_not_found", {}, { code: "not_found" });

export async function retrieveVideo(c: AppContext): Promise<Response> {
  return c.json(toVideo(await readVideo(c, c.req.param("id") ?? "")), 200, { "openai-poll-after-ms": pollAfterMs });
}

/** Deletes the files and the record. A running task is cancelled first. */
export async function deleteVideo(c: AppContext): Promise<Response> {
  const task = await readVideo(c, c.req.param("id") ?? "");
  const path = `/v1/tasks/${task.id}`;
  // The task may have ended between the status query and the cancellation.
  const isEnded = (error: unknown) => error instanceof OpenAiError && error.status === 409;
  if (!isFinal(task))
    await c.var.gateway.ask(`${path}/cancel`, { method: "POST" }).catch((error: unknown) => {
      if (!isEnded(error)) throw error;
    });
  await c.var.gateway.ask(path, { method: "DELETE" });
  return c.json({ id: task.id, object: "video.deleted", deleted: true });
}

const corsHeaders = ["access-control-allow-origin", "access-control-expose-headers", "cross-origin-resource-policy"];

/** Downloads the file, whole or a range. */
export async function downloadVideo(c: AppContext): Promise<Response> {
  const variant = c.req.query("variant") ?? "video";
  if (!["video", "thumbnail", "spritesheet"].includes(variant))
    throw refuseField(c, "variant", "not_one_of", { allowed: "video, thumbnail" });
  const { id, result, error } = await readVideo(c, c.req.param("id") ?? "");
  const video = result?.videos?.[0];
  if (!video) throw refuse(c, error ? 404 : 400, error ? "no_variant" : "video_not_ready", { task: id });
  const url = variant === "video" ? video.url[0] : variant === "thumbnail" ? video.thumbnail : undefined;
  if (url === undefined) throw refuse(c, 404, "no_variant");
  const headers = pickHeaders(c.req.raw, ["range", "if-range", "if-none-match"]);
  const file = await c.var.gateway.ask(filePath(url), { headers });
  const answer = new Response(file.body, file);
  // Pages of every origin may read a signed link. This request has an API key, which does not belong into a page.
  for (const name of corsHeaders) answer.headers.delete(name);
  return answer;
}

export async function listVideos(c: AppContext): Promise<Response> {
  const { limit = "20", after, order = "desc" } = c.req.query();
  if (order !== "desc" && order !== "asc") throw refuseField(c, "order", "not_one_of", { allowed: "asc, desc" });
  const read: ReadPage = (size, from) => readPage<TaskData>(c, "/v1/tasks", { kind: "video", limit: size, after: from });
  const page = order === "desc" ? await read(limit, after) : await readOldest(c, read, limit, after);
  return answerList(c, page, page.data.map(toVideo));
}

type ReadPage = (size: string, from: string | undefined) => Promise<Page<TaskData>>;
/** Each is a call of an object, and a request may make a thousand. */
const maxAscending = 500;

/** The gateway lists the newest first, so ascending order needs the whole list, which is read up to a limit. */
async function readOldest(c: AppContext, read: ReadPage, limit: string, after: string | undefined): Promise<Page<TaskData>> {
  // Called only so that the gateway validates the page size.
  await read(limit, after);
  const all: TaskData[] = [];
  for (let hasMore = true; hasMore;) {
    if (all.length >= maxAscending) throw refuseField(c, "order", "not_supported");
    const page = await read("100", all.at(-1)?.id);
    if (page.next_after !== undefined) throw refuseField(c, "order", "not_supported");
    all.push(...page.data);
    hasMore = page.has_more && page.data.length > 0;
  }
  all.reverse();
  const from = after === undefined ? 0 : all.findIndex(({ id }) => id === after) + 1;
  return { data: all.slice(from, from + Number(limit)), has_more: all.length > from + Number(limit) };
}
