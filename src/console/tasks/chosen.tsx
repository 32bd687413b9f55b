/** Actions on several tasks selected in the gallery: downloading their files, or deleting the tasks after a confirmation. */

import type { ConsoleContext } from "../context.ts";
import { page } from "../frame.tsx";
import { readTask } from "../answers.ts";
import { readFormData } from "../forms.ts";
import { askGateway } from "../gateway.ts";
import { Button, Link, taskPath } from "../parts/index.ts";
import { taskTitle } from "./answers.ts";
import { download } from "./files.ts";

/** A maximum above the number of tasks on a page of the gallery. */
const maxChosen = 100;

/** The ids in a form, without duplicates. Throws `BadForm`. */
async function readChosen(c: ConsoleContext): Promise<{ ids: string[]; isSure: boolean }> {
  const form = await readFormData(c);
  const ids = form.getAll("task").filter((value) => typeof value === "string");
  return { ids: [...new Set(ids)].slice(0, maxChosen), isSure: form.get("sure") === "yes" };
}

/** `POST /console/tasks/download` */
export async function downloadChosen(c: ConsoleContext): Promise<Response> {
  const { ids } = await readChosen(c);
  return ids.length === 0 ? c.redirect("/console/tasks", 303) : download(c, ids);
}

/** `POST /console/tasks/delete`: asks for confirmation, and deletes with `sure=yes`. Running and already deleted tasks are skipped. */
export async function deleteChosen(c: ConsoleContext): Promise<Response> {
  const { ids, isSure } = await readChosen(c);
  if (ids.length === 0) return c.redirect("/console/tasks", 303);
  if (!isSure) return question(c, ids);
  const answers = await Promise.all(ids.map((id) => askGateway(c, taskPath(id), { method: "DELETE" })));
  const deleted = answers.filter(({ status }) => status === 204).length;
  return c.redirect(`/console/tasks?deleted=${deleted}${deleted < ids.length ? `&kept=${ids.length - deleted}` : ""}`, 303);
}

async function question(c: ConsoleContext, ids: string[]) {
  const { t } = c.var;
  const [id = ""] = ids;
  const answer = ids.length === 1 ? await askGateway(c, taskPath(id)) : undefined;
  const title = answer?.ok ? taskTitle(await readTask(answer), t) : undefined;
  return page(
    c,
    ids.length === 1 ? t("delete_task_ask") : t("delete_tasks_ask", { count: ids.length }),
    <form method="post" action="/console/tasks/delete" class="stack narrow">
      {title !== undefined && <p class="said">{title}</p>}
      <p>{t("delete_tasks_warning")}</p>
      {ids.map((id) => (
        <input type="hidden" name="task" value={id} />
      ))}
      <p class="row">
        <Link class="btn" href={ids.length === 1 ? `/console/tasks/${id}` : "/console/tasks"} text={t("keep_it")} />
        <Button
          class="btn danger"
          name="sure"
          value="yes"
          text={ids.length === 1 ? t("delete_task") : t("delete_tasks", { count: ids.length })}
        />
      </p>
    </form>,
    200,
    { width: "slim" },
  );
}
