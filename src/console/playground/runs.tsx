/** The runs beside the form: refreshing and cancelling them; and the account's images for the tray. */

import type { ConsoleContext } from "../context.ts";
import { listFiles } from "../../db/files.ts";
import { isScripted, nothingHere, part } from "../frame.tsx";
import { taskImages, taskPrompt, type TaskData } from "../answers.ts";
import { askGateway } from "../gateway.ts";
import { Button, Coloured } from "../parts/index.ts";
import { isGone, isOpen, listTasks } from "../tasks/answers.ts";
import { maxImageBytes } from "./images.ts";
import { Balance } from "./page.tsx";
import { Runs, State } from "./result.tsx";
import { openPicture } from "./run.ts";
import { Strip } from "./strip.tsx";
import { type History, left, readHistory, readRuns } from "./view.ts";
import { answerText } from "./code.tsx";

/** The result and the elements that change with it. `history` and the balance are only included when a task has ended. */
export const runParts = (tasks: TaskData[], history?: History, remaining?: number | null) => (
  <>
    <Runs tasks={tasks} />
    <State tasks={tasks} isSwapped />
    <Coloured id="json-answer" title="JSON" code={answerText(tasks)} isSwapped />
    {history && <Strip history={history} shown={tasks} isSwapped />}
    {remaining !== undefined && <Balance remaining={remaining} />}
  </>
);

const shownRuns = (c: ConsoleContext) => readRuns(c, (c.req.param("ids") ?? "").split(","));

/** The result of these tasks, with the strip and the balance once something has ended. */
async function answerRuns(c: ConsoleContext, tasks: TaskData[]): Promise<Response> {
  const isSettled = tasks.every((task) => !isOpen(task)) || c.req.query("history") !== undefined;
  const [history, remaining] = isSettled ? await Promise.all([readHistory(c), left(c)]) : [];
  return part(c, runParts(tasks, history, remaining));
}

/** `GET /console/playground/runs/{ids}`: part of the page for its script. */
export async function runs(c: ConsoleContext): Promise<Response> {
  const tasks = await shownRuns(c);
  if (tasks.length === 0) return nothingHere(c);
  const path = `/console/playground?run=${tasks.map(({ id }) => id).join(",")}`;
  if (!isScripted(c)) return c.redirect(path, 303);
  if (c.req.query("history") !== undefined) c.header("hx-replace-url", path);
  return answerRuns(c, tasks);
}

/** `POST /console/playground/runs/{ids}/cancel`. A task that has ended meanwhile stays as it is. */
export async function cancelRuns(c: ConsoleContext): Promise<Response> {
  const before = await shownRuns(c);
  if (before.length === 0) return nothingHere(c);
  await Promise.all(before.filter(isOpen).map(({ id }) => askGateway(c, `/v1/tasks/${id}/cancel`, { method: "POST" })));
  const ids = before.map(({ id }) => id);
  if (!isScripted(c)) return c.redirect(`/console/playground?run=${ids.join(",")}`, 303);
  return answerRuns(c, await readRuns(c, ids));
}

const picturesShown = 24;
/** The newest files, of which some are images. */
const filesRead = 100;

/** An image to choose: of a task (`task_…/0`), or a stored file by its id. */
interface Pick {
  from: string;
  source: string;
  name: string;
}

const Picks = ({ title, picks }: { title: string; picks: Pick[] }) =>
  picks.length === 0 ? null : (
    <section>
      <h3>{title}</h3>
      <ul class="picks">
        {picks.slice(0, picturesShown).map(({ from, source, name }) => (
          <li>
            <button type="button" data-use={from} title={name}>
              <img src={source} alt={name} loading="lazy" />
            </button>
          </li>
        ))}
      </ul>
    </section>
  );

/** `GET /console/playground/pictures`: the newest images of the account and its stored files, to choose from. */
export async function pictures(c: ConsoleContext): Promise<Response> {
  const { t } = c.var;
  if (!isScripted(c)) return c.redirect("/console/tasks?kind=image&status=completed", 303);
  const [made, stored] = await Promise.all([
    listTasks(c, `kind=image&status=completed&limit=${picturesShown}`),
    listFiles(c.env.DB, c.var.caller, { limit: filesRead }, Date.now()),
  ]);
  const images = made
    .filter((task) => !isGone(task))
    .flatMap((task) =>
      taskImages(task).map(({ url: [source = ""] }, at) => ({ from: `${task.id}/${at}`, source, name: taskPrompt(task) ?? "" })),
    );
  const files = stored
    .filter(({ type, bytes }) => type.startsWith("image/") && bytes <= maxImageBytes)
    .map(({ id, name }) => ({ from: id, source: `/console/files/${id}/content`, name: name ?? id }));
  return part(
    c,
    <>
      <header class="row">
        <h2>{t("from_gallery")}</h2>
        <Button
          class="btn ghost icon sm push"
          type="button"
          popovertarget="pictures"
          popovertargetaction="hide"
          aria-label={t("close")}
          icon="x"
        />
      </header>
      {images.length === 0 && files.length === 0 && <p class="muted">{t("no_images_yet")}</p>}
      <Picks title={t("tasks")} picks={images} />
      <Picks title={t("files")} picks={files} />
    </>,
  );
}

/** `GET /console/playground/picture/{id}/{number}`: an image of the account, for the tray. */
export async function servePicture(c: ConsoleContext): Promise<Response> {
  const found = await openPicture(c, `${c.req.param("id")}/${c.req.param("number")}`);
  if (!found) return nothingHere(c);
  c.header("content-type", found.response.headers.get("content-type") ?? "application/octet-stream");
  c.header("x-content-type-options", "nosniff");
  return c.body(found.response.body ?? "");
}
