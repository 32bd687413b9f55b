/**
 * One task for the operator: its step, routes and faults, without prompt and outputs. It can be cancelled here, which releases its price.
 */

import type { ConsoleContext, ConsoleEnvironment } from "../context.ts";
import { Hono } from "hono";
import type { Child } from "hono/jsx";
import { isFinal, type Task } from "../../tasks/record.ts";
import { auditRow } from "../../db/audit-log.ts";
import { actor, nothingHere } from "../frame.tsx";
import { adminPage, askAs, note } from "./frame.tsx";
import { isStuck, toState } from "./task-state.ts";
import { DateTime, Facts, Link, Money, Note, Question, SectionHead, StatusPill, taskPath as toApiPath } from "../parts/index.ts";
import { Attempts, readAttempt } from "../tasks/attempts.tsx";
import { Waterfall } from "../tasks/waterfall.tsx";
import type { PageStatus } from "../page-status.ts";

/** The account and the task in the path. */
const asked = (c: ConsoleContext) => ({ accountId: c.req.param("id") ?? "", taskId: c.req.param("task") ?? "" });
const taskPath = (c: ConsoleContext) => `/console/admin/accounts/${asked(c).accountId}/tasks/${asked(c).taskId}`;

async function show(c: ConsoleContext) {
  const { t } = c.var;
  const { accountId, taskId } = asked(c);
  const task = await c.env.API.record(accountId, taskId);
  if (!task) return nothingHere(c);
  const state = toState(task, task.createdAt, Date.now());
  return adminPage(
    c,
    t("task"),
    <>
      <p>
        <code class="id">{task.id}</code>
      </p>
      {isStuck(state) && (
        <Note tone="warn" role="alert">
          {t(`admin_state_${state}`)}
        </Note>
      )}
      <div class="card gap0">
        <Facts of={facts(c, task)} />
      </div>
      <section>
        <SectionHead title={t("admin_routes")} />
        <ol class="listed">
          {task.submission.routes.map((route, at) => (
            <li>
              {route.provider} · <code>{route.model}</code> · {readAttempt(t, task, at)?.outcome ?? t("admin_route_next")}
            </li>
          ))}
        </ol>
      </section>
      <Waterfall record={task} isAdmin />
      <Attempts record={task} />
      <p id="again-hint" class="hint gap0">
        {t("admin_again_hint")}
      </p>
      <p class="row gap0">
        <Link href={taskPath(c)} class="btn" aria-describedby="again-hint" text={t("admin_look_again")} />
        {!isFinal(task) && <Link href={`${taskPath(c)}/cancel`} class="btn danger" text={t("admin_end_task")} />}
      </p>
    </>,
  );
}

type Fact = readonly [string, Child] | false;

function facts(c: ConsoleContext, task: Task): Fact[] {
  const { t } = c.var;
  const { submission, step } = task;
  const rows: Fact[] = [
    [
      t("account"),
      <a href={`/console/admin/accounts/${submission.accountId}`}>
        <code>{submission.accountId}</code>
      </a>,
    ],
    [t("model"), `${submission.model} · ${t(`kind_${submission.kind}`)}`],
    [t("status"), <StatusPill task={task} />],
    task.error !== undefined && [t("admin_reason"), <code>{task.error}</code>],
    [t("created"), <DateTime ms={task.createdAt} />],
    [t("admin_deadline"), <DateTime ms={task.deadline} />],
    [t("admin_step"), t(`admin_step_${step.do}`)],
    [t("admin_step_at"), <DateTime ms={step.at} />],
    [t("admin_faults"), task.faults],
    [t("reserved"), <Money millionths={submission.price} />],
  ];
  if (task.charged !== undefined) rows.push([t("usage_charged"), <Money millionths={task.charged} />]);
  return rows;
}

async function confirmation(c: ConsoleContext, problem?: string, status: PageStatus = 200) {
  const { t } = c.var;
  const { taskId } = asked(c);
  return adminPage(
    c,
    t("admin_end_ask"),
    <>
      <p>
        <code class="id">{taskId}</code>
      </p>
      <Question text={t("admin_end_warning")} yes={t("admin_end_task")} back={taskPath(c)} problem={problem} />
    </>,
    status,
  );
}

/** Cancels like the owner would: only the task object decides, and releases the price in any case. */
async function cancel(c: ConsoleContext) {
  const { t } = c.var;
  const { accountId, taskId } = asked(c);
  const { status } = await askAs(c, accountId, `${toApiPath(taskId)}/cancel`, { method: "POST" });
  if (status === 404) return nothingHere(c);
  if (status === 409) return confirmation(c, t("admin_ended_already"), 400);
  if (status !== 200) throw new Error(`cancelling answered ${status}`);
  note(c, "task_cancelled", accountId, { task: taskId });
  // Behind the act, which is the task object's and not a row of D1.
  await auditRow(c.env.DB, accountId, actor(c), { act: "task_cancelled", target: taskId }).run();
  return c.redirect(taskPath(c), 303);
}

export const task = new Hono<ConsoleEnvironment>()
  .get("/:task", show)
  .get("/:task/cancel", async (c) => {
    const { accountId, taskId } = asked(c);
    return (await c.env.API.record(accountId, taskId)) ? confirmation(c) : nothingHere(c);
  })
  .post("/:task/cancel", cancel);
