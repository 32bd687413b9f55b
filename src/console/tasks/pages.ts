/** `/console/tasks`: the gallery, each task's page, and its forms. */

import { Hono } from "hono";
import { askGateway, type ConsoleContext, type ConsoleEnvironment, fieldsOf, signedIn, nothingHere } from "../frame.tsx";
import { readTaskId } from "../answers.ts";
import { refusalOf } from "./answers.ts";
import type { FormName } from "./forms.tsx";
import { gallery } from "./gallery.tsx";
import { requestOf, submitOnce } from "./request.ts";
import { taskPage } from "./task.tsx";
import type { Task } from "../../tasks/record.ts";

/**
 * Handles a form of a task of the account: `ask` calls the API. Redirects to the task in the answer; a
 * refusal is shown on the page of the form.
 */
const form =
  (name: FormName, ask: (c: ConsoleContext, task: Task, field: (name: string) => string) => Promise<Response>) =>
  async (c: ConsoleContext) => {
    const task = await c.env.API.record(c.get("account").id, c.req.param("id") ?? "");
    if (!task) return nothingHere(c);
    const field = await fieldsOf(c);
    const answer = await ask(c, task, field);
    if (!answer.ok) return taskPage(c, task.id, { form: name, refusal: await refusalOf(answer), typed: field });
    return c.redirect(`/console/tasks/${await readTaskId(answer)}`, 303);
  };

export const tasks = new Hono<ConsoleEnvironment>()
  .use(signedIn)
  .get("/", gallery)
  .get("/:id", (c) => taskPage(c, c.req.param("id")))
  .post(
    "/:id/cancel",
    form("cancel", (c, { id }) => askGateway(c, `/v1/tasks/${id}/cancel`, { method: "POST" })),
  )
  .post(
    "/:id/again",
    form("again", async (c, { submission }, field) => submitOnce(c, field("key"), await requestOf(c, submission))),
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
