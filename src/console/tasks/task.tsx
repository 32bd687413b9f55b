/** One task's page: its result, actions and request; it refreshes itself while the task runs. */

import { costOf } from "../ledger.ts";
import { askGateway, type ConsoleContext, page, nothingHere } from "../frame.tsx";
import { readTask } from "../answers.ts";
import { isGone, isOpen, refusalOf, usableModels } from "./answers.ts";
import { amountOf } from "../amounts.ts";
import { Cost, Parameters, Times } from "./facts.tsx";
import { Forms, type Refused } from "./forms.tsx";
import { Progress } from "./gallery.tsx";
import { live } from "./live.ts";
import { Result } from "./result.tsx";
import { Problem } from "../parts/note.tsx";
import { Copy } from "../parts/copy.tsx";
import { StatusPill } from "../parts/status.tsx";
import { pathOf } from "../static-files.ts";

/** `GET /console/tasks/{id}`, and the answer to a refused form of that page. */
export async function taskPage(c: ConsoleContext, id: string, refused?: Refused) {
  const { say } = c.var;
  const answer = await askGateway(c, `/v1/tasks/${encodeURIComponent(id)}`);
  if (!answer.ok) {
    const { text, status } = await refusalOf(answer);
    return page(c, text, null, status);
  }
  const task = await readTask(answer);
  // Read after the answer, so that a task that is final in the answer is final in the record.
  const record = await c.env.API.record(c.get("account").id, task.id);
  if (!record) return nothingHere(c);
  const models = record.result?.kind === "video" ? await usableModels(c) : [];
  const cost = await costOf(c, c.get("account").id, task.id);
  const path = `/console/tasks/${task.id}`;
  // The page of a final task is refreshed when its files expire.
  const renewal = isOpen(task) ? "every 2s" : task.expires_at !== undefined && !isGone(task) ? "expired" : undefined;
  return page(
    c,
    `${say(`kind_${task.metadata.kind}`)} · ${task.model}`,
    <>
      <p>
        <code class="id" id="task-id">
          {task.id}
        </code>{" "}
        <Copy of="task-id" />
      </p>
      <section class="stack" {...(renewal ? live(path, "task", renewal) : { id: "task" })}>
        <Problem text={refused?.refusal.text} />
        <p role="status">
          <StatusPill task={task} />
        </p>
        {isOpen(task) && (
          <p>
            <Progress task={task} say={say} /> <span class="meta">{say("seconds_left", { seconds: task.estimated_time ?? 1 })}</span>
          </p>
        )}
        {isOpen(task) && (
          <noscript>
            <p>
              <a href={path}>{say("reload_progress")}</a>
            </p>
          </noscript>
        )}
        {task.error && (
          <div class="note bad">
            <p>
              {task.error.message} <code>{task.error.code}</code>
              <br />
              {say(record.step.do === "settle" ? "money_comes_back" : "money_came_back", { amount: amountOf(c, record.submission.price) })}
            </p>
          </div>
        )}
        <Result task={task} result={record.result} say={say} />
        <Forms
          task={task}
          submission={record.submission}
          models={models}
          amount={(units) => amountOf(c, Math.round(units * 1e6))}
          refused={refused}
          say={say}
        />
        <Parameters c={c} task={task} record={record} />
        <div class="duo">
          <div>{cost && <Cost c={c} cost={cost} />}</div>
          <div>
            <Times c={c} task={task} record={record} />
          </div>
        </div>
      </section>
      <script src={pathOf("countdown.js")} type="module" />
    </>,
    refused?.refusal.status ?? 200,
  );
}
