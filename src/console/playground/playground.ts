/** The playground: a form for each model, submitted to the gateway's own API as the signed-in user. */

import { Hono } from "hono";
import { sha256Hex } from "../../ids.ts";
import { readError, readTaskId, readTasks } from "../answers.ts";
import { askGateway, type ConsoleContext, type ConsoleEnvironment, page, signedIn, nothingHere } from "../frame.tsx";
import { bodyOf } from "./body.ts";
import { asStream, writtenPage } from "./chat.ts";
import { type Choice, choicesOf, requestOf } from "./choices.ts";
import { carriedOver, fieldAt, type Typed, typedOf } from "./fields.ts";
import { playgroundPage, type Shown } from "./page.tsx";
import { type Form, inTurn, jsonOf, readForm } from "./images.ts";

/** Too many large forms are being read. */
class Busy extends Error {}

/** Videos of the account that a character or a remix can be made from. */
async function videosOf(c: ConsoleContext, { action }: Choice): Promise<string[]> {
  if (action !== "character" && action !== "remix") return [];
  const answer = await askGateway(c, "/v1/tasks?kind=video&status=completed&limit=20");
  return answer.ok ? (await readTasks(answer)).data.map(({ id }) => id) : [];
}

const show = async (c: ConsoleContext, shown: Omit<Shown, "videos">, status?: Parameters<typeof page>[3]) =>
  playgroundPage(c, { ...shown, videos: await videosOf(c, shown.choice) }, status);

/** The page with a form: for the requested model, prefilled from the task `from` and the query. */
async function open(c: ConsoleContext): Promise<Response> {
  const { say } = c.var;
  const choices = await choicesOf(c);
  const { model = "", from, ...query } = c.req.query();
  const task = from === undefined ? undefined : await c.env.API.record(c.get("account").id, from);
  if (task === null) return nothingHere(c);
  const { kind, parameters, source } = task?.submission ?? {};
  const wanted = task ? (choices.find((one) => one.model === task.submission.model && one.action === kind)?.id ?? "") : model;
  const choice =
    choices.find(({ id, aliases }) => id === wanted || aliases.includes(wanted)) ??
    choices.find(({ action }) => action === "image") ??
    choices[0];
  if (!choice) return page(c, say("playground"), say("no_models"));
  const asked: Typed = new Map(Object.entries(query).map(([name, text]) => [name, [text]]));
  const typed = task
    ? typedOf(choice.fields, { ...parameters, ...(kind === "remix" && { video_id: source?.taskId }) })
    : carriedOver(choice.fields, asked);
  const lostImages = JSON.stringify([parameters?.images, parameters?.image_with_roles]).includes('"inline"');
  return show(c, { choices, choice, typed, lostImages });
}

/** Handles a form: shows another model's form, the price and code, or runs it. */
async function answer(c: ConsoleContext): Promise<Response> {
  const { say } = c.var;
  const form = await readForm(c.req.raw);
  if (form === "too_large") return page(c, say("form_too_large"), null, 413);
  if (form === "broken") return page(c, say("form_broken"), null, 400);
  const { typed, images } = form;
  const choices = await choicesOf(c);
  const choice = choices.find(({ id }) => id === typed.get("model")?.[0]);
  if (!choice) return nothingHere(c);
  const isLeft = ({ id }: Choice) => id === typed.get("shown")?.[0];
  switch (typed.get("do")?.[0]) {
    case "choose":
      c.header("hx-replace-url", `/console/playground?model=${encodeURIComponent(choice.id)}`);
      return show(c, { choices, choice, typed: carriedOver(choice.fields, typed, choices.find(isLeft)?.fields) });
    case "run":
      return run(c, choices, choice, form);
    default:
      return show(c, { choices, choice, typed, images, lostImages: images.size > 0 });
  }
}

async function run(c: ConsoleContext, choices: Choice[], choice: Choice, { typed, images }: Form): Promise<Response> {
  const { path, body } = requestOf(choice, bodyOf(choice.fields, typed, images));
  const isChat = choice.action === "chat";
  const response = await askGateway(c, path, {
    method: "POST",
    headers: { "content-type": "application/json", "idempotency-key": await keyOf(typed, images) },
    body: jsonOf({ ...body, ...(isChat && asStream) }),
  });
  if (!response.ok) return refused(c, { choices, choice, typed, images }, response);
  if (isChat && response.body) return writtenPage(c, { choices, choice, typed }, response.body);
  return c.redirect(`/console/tasks/${await readTaskId(response)}`, 303);
}

/**
 * The same form sent twice is one task: the idempotency key is derived from the page's key and the values, because a user who goes
 * back and changes a value wants another task.
 */
const keyOf = (typed: Typed, images: Form["images"]) =>
  sha256Hex(JSON.stringify([[...typed], [...images].map(([name, list]) => [name, list.map((one) => [one.name, one.size])])]));

/** The form as it was sent, with the API's errors beside their fields. */
async function refused(c: ConsoleContext, shown: Shown, response: Response): Promise<Response> {
  const error = await readError(response);
  const problems = new Map<string, string[]>();
  const others: string[] = [];
  for (const { param, message } of error.details ?? []) {
    const field = fieldAt(shown.choice.fields, param);
    const told = param === field?.name ? message : `${param}: ${message}`;
    if (field) problems.set(field.name, [...(problems.get(field.name) ?? []), told]);
    else others.push(told);
  }
  const problem = others.length > 0 ? others.join(" · ") : problems.size === 0 ? error.message : undefined;
  const status = response.status as Parameters<typeof page>[3];
  return show(c, { ...shown, problem, problems, lostImages: Boolean(shown.images?.size) }, status);
}

export const playground = new Hono<ConsoleEnvironment>()
  .use(signedIn)
  .get("/", open)
  .post("/", async (c) => {
    try {
      return await inTurn(
        c.req.raw,
        () => answer(c),
        () => new Busy(),
      );
    } catch (error) {
      if (error instanceof Busy) return page(c, c.get("say")("form_busy"), null, 503);
      throw error;
    }
  });
