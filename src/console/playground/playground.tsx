/** The playground: a form for each model, run in place by the gateway's own API as the signed-in user. */

import type { ConsoleContext, ConsoleEnvironment } from "../context.ts";
import { BadForm } from "../forms.ts";
import { Hono } from "hono";
import { deadEnd, isScripted, member, nothingHere, page, part, partText, signedIn } from "../frame.tsx";
import { findTooMuch, maxAttached, withFiles } from "./attached.tsx";
import { type Message, messagesIn } from "./body.ts";
import { answerEvents, answered, asStream, withMessage, withoutAnswer, writtenPage } from "./chat.ts";
import { type Choice, readChoices } from "./choices.ts";
import { Texts } from "./code.tsx";
import { Nothing } from "./examples.tsx";
import { Composer, Conversation } from "./conversation.tsx";
import { carriedOver, formFields, type Typed, toTyped } from "./fields.ts";
import { PlaygroundForm, RunBar } from "./form.tsx";
import { type Form, inTurn, readLargeForm } from "./images.ts";
import { Balance, baseUrl, NewChat, Panes, playgroundPage, unsent } from "./page.tsx";
import { cancelRuns, servePicture, pictures, runParts, runs } from "./runs.tsx";
import { keepTyped } from "./signed-out.tsx";
import { readRefused, run, submit } from "./run.ts";
import { readRecord } from "../tasks/answers.ts";
import { listCandidates, type Shown, type View, buildView } from "./view.ts";
import { type PageStatus, toPageStatus } from "../page-status.ts";

const listed = (text: string | undefined) => (text ?? "").split(",").filter((id) => id !== "");

/** The page with a form: for the requested model, prefilled from a task (`from`, or the first of `run`) and the query. */
async function open(c: ConsoleContext): Promise<Response> {
  const { t } = c.var;
  const choices = await readChoices(c);
  const { model = "", from, run: shownRuns, ...query } = c.req.query();
  const ids = listed(shownRuns);
  const source = from ?? ids[0];
  const task = source === undefined ? undefined : await readRecord(c, source);
  if (task === null) return nothingHere(c);
  const { kind, parameters, source: made } = task?.submission ?? {};
  const wanted = task ? (choices.find((one) => one.model === task.submission.model && one.action === kind)?.id ?? "") : model;
  const choice = choices.find(({ id, aliases }) => id === wanted || aliases.includes(wanted)) ?? findFirst(choices, "image") ?? choices[0];
  if (!choice) return page(c, t("playground"), t("no_models"));
  const fields = formFields(choice.fields);
  const typed = task
    ? toTyped(fields, { ...parameters, ...(kind === "remix" && { video_id: made?.taskId }) })
    : carriedOver(fields, queried(query));
  const destination = task?.submission.deliverTo?.destination;
  if (destination !== undefined) typed.set("deliver_to", [destination]);
  const lostImages = JSON.stringify([parameters?.images, parameters?.image_with_roles]).includes('"inline"');
  return playgroundPage(c, await buildView(c, { choices, choice, typed, lostImages, runs: ids }));
}

const findFirst = (choices: Choice[], action: string) => choices.find((one) => one.action === action);

/** Values from a link. The first message of a chat is its instructions. */
function queried(query: Record<string, string>): Typed {
  const typed: Typed = new Map(Object.entries(query).map(([name, text]) => [name, [text]]));
  if (typed.has("messages.1.content"))
    for (const [name, role] of [
      ["messages.0.role", "system"],
      ["messages.1.role", "user"],
    ] as const)
      if (!typed.has(name)) typed.set(name, [role]);
  return typed;
}

/** Handles a submitted form: shows another model's form, shows price and code, or runs it. */
async function answer(c: ConsoleContext, request: Request): Promise<Response> {
  const { t } = c.var;
  const form = await readLargeForm(request);
  const { images } = form;
  const typed = withFiles(form.typed, images);
  const text = (name: string) => typed.get(name)?.[0];
  const choices = await readChoices(c);
  const kind = text("kind");
  const choice = kind === undefined ? choices.find(({ id }) => id === text("model")) : findFirst(choices, kind);
  if (!choice) return nothingHere(c);
  const shown: Shown = { choices, choice, typed, images, runs: listed(text("run")) };
  const way = kind === undefined ? text("do") : "choose";
  switch (way) {
    case "choose":
      return choose(c, shown);
    case "run":
      return choice.action === "chat" ? chat(c, shown) : runTasks(c, shown, form);
    case "again": {
      const before = withoutAnswer(typed);
      return chat(c, { ...shown, typed: before.typed }, before.draft);
    }
    case "stopped": {
      const said = text("answer") ?? "";
      const asked = text("was") === "again" ? withoutAnswer(typed) : { typed, draft: undefined };
      // A repeated answer without text: the earlier answer stays.
      const isKept = text("was") === "again" && said === "";
      const stopped = isKept ? typed : withMessage(answered(asked.typed, { text: said, used: t("answer_stopped") }), asked.draft);
      return part(c, await conversationParts(c, { ...shown, typed: stopped }));
    }
    default:
      return isScripted(c) ? preview(c, shown) : playgroundPage(c, await buildView(c, { ...shown, lostImages: images.size > 0 }));
  }
}

/** Another model's form, with the values that are valid for it. */
async function choose(c: ConsoleContext, shown: Shown): Promise<Response> {
  const { choices, choice, typed } = shown;
  const before = choices.find(({ id }) => id === typed.get("shown")?.[0]);
  const carried = carriedOver(formFields(choice.fields), typed, before && formFields(before.fields));
  const isChat = choice.action === "chat";
  const isOther = (before?.action === "chat") !== isChat;
  const view = await buildView(c, { ...shown, typed: carried, images: new Map(), ...(isOther && { runs: [] }) });
  if (!isScripted(c)) return playgroundPage(c, { ...view, lostImages: shown.images?.size !== 0 });
  c.header("hx-replace-url", `/console/playground?model=${encodeURIComponent(choice.id)}`);
  if (isOther) {
    c.header("hx-retarget", "#play");
    return part(c, <Panes view={view} base={baseUrl(c)} />);
  }
  return part(
    c,
    <>
      <PlaygroundForm view={view} />
      {view.runs.length === 0 && !isChat && <Nothing action={choice.action} isSwapped />}
      <Texts view={view} base={baseUrl(c)} />
    </>,
  );
}

/** The price on the button, and the request as code. */
async function preview(c: ConsoleContext, shown: Shown): Promise<Response> {
  const view = await buildView(c, { ...shown, runs: [] });
  c.header("hx-reswap", "none");
  return part(
    c,
    <>
      <RunBar view={view} isSwapped />
      <Texts view={view} base={baseUrl(c)} />
    </>,
  );
}

async function runTasks(c: ConsoleContext, shown: Shown, { images }: Form): Promise<Response> {
  const { ids, refused } = await run(c, shown);
  if (refused) {
    const { problem, problems } = refused;
    const status = toPageStatus(refused.status);
    const view = await buildView(c, { ...shown, problem, problems, lostImages: images.size > 0 && !isScripted(c) });
    if (!isScripted(c)) return playgroundPage(c, view, status);
    c.header("hx-retarget", "#form");
    // The status is 200 for the page's script: a browser would log each error status as an error of the page.
    return part(c, <PlaygroundForm view={view} />);
  }
  const path = `/console/playground?run=${ids.join(",")}`;
  if (!isScripted(c)) return c.redirect(path, 303);
  c.header("hx-replace-url", path);
  const { key: _, ...rest } = Object.fromEntries(shown.typed);
  const view = await buildView(c, { ...shown, typed: new Map(Object.entries(rest)), runs: ids });
  return part(
    c,
    <>
      {runParts(view.runs, view.history, view.remaining)}
      <RunBar view={view} isSwapped />
      <Texts view={view} base={baseUrl(c)} />
    </>,
  );
}

/** The conversation and the elements that change with it, for the page's script. */
async function conversationParts(c: ConsoleContext, shown: Shown, isAnswering = false) {
  const view = await buildView(c, shown);
  return (
    <>
      <Conversation view={view} answering={isAnswering ? { text: "" } : undefined} />
      <Composer view={view} isAnswering={isAnswering} isSwapped />
      {!isAnswering && (
        <>
          <NewChat view={view} isSwapped />
          <RunBar view={view} isSwapped />
          <Balance remaining={view.remaining} />
          <Texts view={view} base={baseUrl(c)} />
        </>
      )}
    </>
  );
}

/** Sends the conversation. `draft` is the unsent text, which stays in the input line. */
async function chat(c: ConsoleContext, shown: Shown, draft?: Message): Promise<Response> {
  const [one] = listCandidates(shown);
  if (!one) return nothingHere(c);
  const tooMuch = findTooMuch(messagesIn("messages", shown.typed));
  if (tooMuch) {
    const problems = new Map([["messages", [c.var.t(tooMuch, { most: maxAttached })]]]);
    const view = await buildView(c, { ...shown, problems });
    return isScripted(c) ? part(c, <Panes view={view} base={baseUrl(c)} />) : playgroundPage(c, view, 400);
  }
  const done = (typed: Typed) => (draft ? withMessage(typed, draft) : typed);
  const ask = () => submit(c, one, new Map(), asStream);
  const refusedView = async (response: Response): Promise<[View, PageStatus]> => {
    const { status, problem, problems } = await readRefused(c, response, one);
    return [await buildView(c, { ...shown, problem, problems }), toPageStatus(status)];
  };
  if (c.req.header("accept") === "text/event-stream")
    return answerEvents(c, shown, ask, {
      waiting: async () => partText(c, await conversationParts(c, shown, true)),
      refused: async (response) => partText(c, <Panes view={(await refusedView(response))[0]} base={baseUrl(c)} />),
      done: async (typed) => partText(c, await conversationParts(c, { ...shown, typed: done(typed) })),
    });
  const response = await ask();
  if (!response.ok || !response.body) return playgroundPage(c, ...(await refusedView(response)));
  return writtenPage(c, shown, response.body, async (typed, mark) =>
    (await playgroundPage(c, await buildView(c, { ...shown, typed: done(typed) }), 200, { text: mark })).text(),
  );
}

const formErrors = { 400: "form_broken", 408: "form_too_slow", 413: "form_too_large", 503: "form_busy" } as const;

/** The answer to a form that was not read. With script the page stays with its values and files, and shows a message. */
function refuseForm(c: ConsoleContext, status: BadForm["status"]): Response | Promise<Response> {
  const { t } = c.var;
  const problem = t(formErrors[status]);
  if (isScripted(c)) return unsent(c, "bad", problem);
  return deadEnd(c, status, problem, { to: "/console/playground", text: t("playground") });
}

/** `POST /console/playground` */
async function submitted(c: ConsoleContext): Promise<Response> {
  try {
    return await inTurn(c.req.raw, c.var.caller.accountId, c.env.RECEIVE, (request) => answer(c, request));
  } catch (error) {
    if (!(error instanceof BadForm)) throw error;
    return refuseForm(c, error.status);
  }
}

export const playground = new Hono<ConsoleEnvironment>()
  .post("/", keepTyped, member, submitted)
  .use(signedIn)
  .get("/", open)
  .get("/pictures", pictures)
  .get("/picture/:id/:number", servePicture)
  .get("/runs/:ids", runs)
  .post("/runs/:ids/cancel", cancelRuns);
