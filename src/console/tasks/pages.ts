/** `/console/tasks`: the gallery, each task's page, and its forms. */

import type { ConsoleContext, ConsoleEnvironment } from "../context.ts";
import { Hono } from "hono";
import { signedIn, nothingHere } from "../frame.tsx";
import { readRefusal, readTaskId } from "../answers.ts";
import { sendFile } from "../downloads.ts";
import { readForm } from "../forms.ts";
import { askGateway } from "../gateway.ts";
import { taskPath } from "../parts/ids.ts";
import { readRecord } from "./answers.ts";
import type { FormName } from "./actions.tsx";
import { deleteChosen, downloadChosen } from "./chosen.tsx";
import { download } from "./files.ts";
import { gallery } from "./gallery.tsx";
import { lightbox } from "./lightbox.tsx";
import { toApiRequest, submitOnce } from "./request.ts";
import { taskPage } from "./task.tsx";
import { keepThumbnail } from "./thumbnails.ts";
import type { Task } from "../../tasks/record.ts";

/**
 * Handles a form of a task that the user may see: `ask` calls the API. Redirects to the task in the answer; a
 * refusal is shown on the page of the form.
 */
const form =
  (name: FormName, ask: (c: ConsoleContext, task: Task, field: (name: string) => string) => Promise<Response>) =>
  async (c: ConsoleContext) => {
    const task = await readRecord(c, c.req.param("id") ?? "");
    if (!task) return nothingHere(c);
    const field = await readForm(c);
    const answer = await ask(c, task, field);
    if (!answer.ok) return taskPage(c, task.id, { form: name, refusal: await readRefusal(answer), typed: field });
    return c.redirect(`/console/tasks/${await readTaskId(answer)}`, 303);
  };

/** The signed receipt, as a file. */
async function receipt(c: ConsoleContext): Promise<Response> {
  const id = c.req.param("id") ?? "";
  const answer = await askGateway(c, `${taskPath(id)}/receipt`);
  if (!answer.ok) return nothingHere(c);
  return sendFile(c, `${id}-receipt.json`, "application/json", await answer.text());
}

/** Sends the task's callback, or delivers its files, again at once; the page then shows how it ends. */
const sendAgain =
  (what: "callback" | "delivery") =>
  async (c: ConsoleContext): Promise<Response> => {
    const id = c.req.param("id") ?? "";
    const answer = await askGateway(c, `${taskPath(id)}/${what}`, { method: "POST" });
    if (answer.ok) return c.redirect(`/console/tasks/${id}#${what}`, 303);
    return taskPage(c, id, { form: what, refusal: await readRefusal(answer), typed: () => "" });
  };

export const tasks = new Hono<ConsoleEnvironment>()
  .use(signedIn)
  .get("/", gallery)
  .post("/download", downloadChosen)
  .post("/delete", deleteChosen)
  .get("/:id", (c) => taskPage(c, c.req.param("id")))
  .get("/:id/view", (c) => lightbox(c, c.req.param("id")))
  .get("/:id/download", (c) => download(c, [c.req.param("id")]))
  .get("/:id/receipt", receipt)
  .post("/:id/thumbnail", keepThumbnail)
  .post("/:id/callback", sendAgain("callback"))
  .post("/:id/delivery", sendAgain("delivery"))
  .post(
    "/:id/cancel",
    form("cancel", (c, { id }) => askGateway(c, `/v1/tasks/${id}/cancel`, { method: "POST" })),
  )
  .post(
    "/:id/again",
    form("again", async (c, { submission }, field) => submitOnce(c, field("key"), await toApiRequest(c, submission))),
  )
  .post(
    "/:id/remix",
    form("remix", (c, { id }, field) => {
      const [model = "", duration] = field("choice").split("/");
      // Browsers send the lines of a text area with CR LF.
      const body = { model, prompt: field("prompt").replaceAll("\r\n", "\n"), size: field("size"), duration: Number(duration) };
      return submitOnce(c, field("key"), { path: `/v1/videos/${id}/remix`, body });
    }),
  )
  .post(
    "/:id/character",
    form("character", (c, { id, submission: { model } }, field) => {
      const body = { model, from_task: id, timestamps: `${field("start")},${field("end")}` };
      return submitOnce(c, field("key"), { path: "/v1/videos/generations", body });
    }),
  );
