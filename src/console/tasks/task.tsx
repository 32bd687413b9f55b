/** One task's page: its result first, then its actions; beside it its facts. It refreshes itself while the task runs. */

import type { ConsoleContext } from "../context.ts";
import { liveCatalog } from "../../current-catalog.ts";
import { listKeys } from "../../db/api-keys.ts";
import type { Task } from "../../tasks/record.ts";
import { listAssets } from "../../tasks/answers/views.ts";
import { readTaskCost } from "../ledger.ts";
import { page, nothingHere } from "../frame.tsx";
import { taskPrompt, readRefusal, readTask, type TaskData } from "../answers.ts";
import { formatAmount } from "../amounts.ts";
import { askGateway } from "../gateway.ts";
import { Code, CredentialScripts, ErrorNote, Link, Problem, SectionHead, StatusPill, taskPath, WhenDone } from "../parts/index.ts";
import { hashedPath } from "../static-files.ts";
import { Actions, HeadActions, type Refused } from "./actions.tsx";
import { isGone, isOpen, readRecord, saysFree, taskTitle, usableModels } from "./answers.ts";
import { Attempts } from "./attempts.tsx";
import { Callback, readTaskCallback } from "./callback.tsx";
import { Delivery } from "./delivery.tsx";
import { Details, Receipt, Timeline } from "./facts.tsx";
import { Figures, readSubmissionAnswer } from "./figures.tsx";
import { live } from "./live.ts";
import { Result } from "./result.tsx";
import { sentCode } from "./sent.tsx";
import { Waterfall } from "./waterfall.tsx";

/** The page refreshes itself for a callback or a delivery whose next attempt is within this time. */
const soonMs = 15_000;

/** When the page refreshes itself: while something happens, and once when its files expire. */
function nextRenewal(task: TaskData, { callback, delivery }: Task): "every 2s" | "every 3s" | "expired" | undefined {
  if (isOpen(task)) return "every 2s";
  for (const one of [callback, delivery]) if (one?.state === "pending" && (one.step?.at ?? 0) < Date.now() + soonMs) return "every 3s";
  return task.expires_at !== undefined && !isGone(task) ? "expired" : undefined;
}

const Failure = ({ c, task, record }: { c: ConsoleContext; task: TaskData; record: Task }) => {
  const { t } = c.var;
  if (!task.error) return null;
  const { charged = 0 } = record;
  const cameBack = saysFree(task.error.code) ? "money_only_back" : "money_came_back";
  return (
    <ErrorNote code={task.error.code} message={task.error.message}>
      {charged > 0
        ? `${t("usage_charged")}: ${formatAmount(c, charged)}`
        : t(record.step.do === "settle" ? "money_comes_back" : cameBack, { amount: formatAmount(c, record.submission.price) })}
    </ErrorNote>
  );
};

/** The request as programs and as JSON, beside the answer to it. */
async function exchange(c: ConsoleContext, task: TaskData, submission: Task["submission"]) {
  const { t } = c.var;
  return (
    <div class="exchange">
      <section>
        <SectionHead title={t("task_request")} />
        {await sentCode(c, submission)}
      </section>
      <section>
        <SectionHead title={t("task_answer")} />
        <Code
          name="answer"
          tabs={[
            {
              id: "answer-json",
              title: `GET /v1/tasks/${task.id.slice(0, 9)}…`,
              code: JSON.stringify({ code: 200, data: task }, undefined, 2),
            },
          ]}
        />
      </section>
    </div>
  );
}

/** `GET /console/tasks/{id}`, and the answer to a refused form of that page. */
export async function taskPage(c: ConsoleContext, id: string, refused?: Refused) {
  const { t, account } = c.var;
  const answer = await askGateway(c, taskPath(id));
  if (answer.status === 404) return nothingHere(c);
  if (!answer.ok) {
    const { text, status } = await readRefusal(answer);
    return page(c, text, null, status);
  }
  const task = await readTask(answer);
  // Read after the answer, so that a task that is final in the answer is final in the record.
  const record = await readRecord(c, task.id);
  if (!record) return nothingHere(c);
  const [models, cost, keys, callback, first, catalog] = await Promise.all([
    record.result?.kind === "video" ? usableModels(c) : [],
    readTaskCost(c, account.id, task.id),
    listKeys(c.env.DB, account.id),
    isOpen(task) ? undefined : readTaskCallback(c, task.id),
    isOpen(task) ? undefined : readSubmissionAnswer(c, record),
    liveCatalog(c.env.DB),
  ]);
  const path = `/console/tasks/${task.id}`;
  const renewal = nextRenewal(task, record);
  const title = taskTitle(task, t);
  const prompt = taskPrompt(task) ?? "";
  return page(
    c,
    title,
    <div class="page" {...(renewal ? live(path, "task", renewal) : { id: "task" })}>
      <div class="head titled">
        <Link class="btn ghost icon sm" href="/console/tasks" aria-label={t("back_to_gallery")} icon="left" />
        <h1 class="clip">{title}</h1>
        <span role="status">
          <StatusPill task={task} />
        </span>
        {!isOpen(task) && <HeadActions task={task} submission={record.submission} />}
      </div>
      <Problem text={refused?.refusal.text} />
      <div class="task">
        <div>
          <Failure c={c} task={task} record={record} />
          <Result task={task} result={record.result} />
          <Actions
            task={task}
            submission={record.submission}
            files={record.result ? listAssets(record.result) : []}
            models={models}
            refused={refused}
          />
          {isOpen(task) && (
            <noscript>
              <p>
                <a href={path}>{t("reload_progress")}</a>
              </p>
            </noscript>
          )}
          {prompt.length > 60 && (
            <section>
              <SectionHead title={t("task_prompt")} />
              <p class="said">{prompt}</p>
            </section>
          )}
        </div>
        <aside>
          <Details
            task={task}
            record={record}
            keyName={keys.find(({ id, walletId }) => [id, walletId].includes(record.submission.keyId))?.name}
          />
          <Timeline task={task} record={record} />
          {cost && <Receipt c={c} record={record} cost={cost} />}
        </aside>
        <div>
          <Figures record={record} cost={cost} first={first} typicalSeconds={catalog.named(task.model)?.typicalSeconds} />
          <Waterfall record={record} isAdmin={account.admin === 1} />
          {account.admin === 1 && <Attempts record={record} />}
          <Delivery task={task} place={record.submission.deliverTo?.destination} />
          {callback && <Callback callback={callback} />}
          {await exchange(c, task, record.submission)}
        </div>
      </div>
      <script src={hashedPath("countdown.js")} type="module" />
      <CredentialScripts />
      <WhenDone />
    </div>,
    refused?.refusal.status ?? 200,
    { width: "bare", bar: t("task") },
  );
}
