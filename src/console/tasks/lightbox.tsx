/** A task in the gallery's lightbox: its files in full, one at a time, with the next actions. */

import type { ConsoleContext } from "../context.ts";
import { formatAmount } from "../amounts.ts";
import { taskImages, readTask, taskVideo, taskCharacter } from "../answers.ts";
import { nothingHere, part } from "../frame.tsx";
import { askGateway } from "../gateway.ts";
import { Button, Link, taskPath } from "../parts/index.ts";
import { isGone, readRecord, taskTitle } from "./answers.ts";
import { isRepeatable } from "./request.ts";
import { Player } from "./result.tsx";

/** `GET /console/tasks/{id}/view`: the content of the dialog; the task's page for browsers that open it as a page. */
export async function lightbox(c: ConsoleContext, id: string): Promise<Response> {
  const path = `/console/tasks/${encodeURIComponent(id)}`;
  if (c.req.header("sec-fetch-dest") === "document") return c.redirect(path, 303);
  const { t } = c.var;
  const answer = await askGateway(c, taskPath(id));
  const record = answer.ok ? await readRecord(c, id) : null;
  if (!record) return nothingHere(c);
  const task = await readTask(answer);
  if (isGone(task)) return nothingHere(c);
  const title = taskTitle(task, t);
  const video = taskVideo(task);
  const character = taskCharacter(task);
  const images = character ? [character.profile_picture_url] : taskImages(task).flatMap(({ url }) => url);
  const shots = video ? 1 : images.length;
  const again = isRepeatable(record.submission);
  return part(
    c,
    <>
      <header>
        <b class="clip" id="light-title">
          {title}
        </b>
        <span class="meta num hide-s">
          {task.model}
          {shots > 1 && (
            <>
              {" · "}
              <span data-place>1</span> / {shots}
            </>
          )}
        </span>
        <Link class="btn sm push" href={path} data-first text={t("open_task")} />
        <form method="dialog">
          <Button class="btn icon sm" aria-label={t("close")} icon="x" />
        </form>
      </header>
      <figure>
        <Button type="button" class="btn icon prev" aria-label={t("show_previous")} data-step="-1" icon="left" />
        {video ? (
          <Player task={task} />
        ) : (
          images.map((url, at) => (
            <img
              src={url}
              alt={images.length > 1 ? `${title}, ${at + 1} / ${images.length}` : title}
              loading="lazy"
              hidden={at > 0}
              data-shot
            />
          ))
        )}
        <Button type="button" class="btn icon next" aria-label={t("show_next")} data-step="1" icon="right" />
      </figure>
      <footer>
        <Link class="btn" href={`${path}/download`} download data-stay icon="down" text={t("download")} />
        {again && (
          <form method="post" action={`${path}/again`}>
            <input type="hidden" name="key" value={crypto.randomUUID()} />
            <Button class="btn" icon="again" text={t("run_again_for", { price: formatAmount(c, record.submission.price) })} />
          </form>
        )}
        <Link class="btn hide-s" href={`/console/playground?from=${task.id}`} icon="pen" text={t("change_and_run")} />
      </footer>
    </>,
  );
}
