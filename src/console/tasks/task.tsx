/** One task's page: what came of it, what was asked for, what it cost and when; it renews itself while the task runs. */

import type { Child } from "hono/jsx";
import { costOf, toUnits } from "../../quota.ts";
import type { Task } from "../../tasks/record.ts";
import { type ConsoleContext, page } from "../frame.tsx";
import { Moment, Problem } from "../layout.tsx";
import { isGone, isOpen, readTask, type TaskData, usableModels } from "./answers.ts";
import { Forms, type Refused } from "./forms.tsx";
import { Progress, statusWord } from "./gallery.tsx";
import { live } from "./live.ts";
import { Result } from "./result.tsx";

/** Says an amount of balance units. */
const amountOf = (c: ConsoleContext) => (units: number) =>
  `${units.toLocaleString(c.get("language"), { maximumFractionDigits: 6 })} ${c.env.BALANCE_UNIT}`;

const Facts = ({ title, rows }: { title: string; rows: (readonly [name: Child, value: Child] | false | undefined)[] }) => (
  <>
    <h2>{title}</h2>
    <div class="overflow-auto">
      <table class="facts">
        <tbody>
          {rows.map(
            (row) =>
              row && (
                <tr>
                  <th scope="row">{row[0]}</th>
                  <td>{row[1]}</td>
                </tr>
              ),
          )}
        </tbody>
      </table>
    </div>
  </>
);

const TaskLink = ({ id }: { id: string }) => (
  <a href={`/console/tasks/${id}`}>
    <code>{id}</code>
  </a>
);

/** A parameter's value: addresses are links, other tasks lead to their pages, inline pictures are only named. */
function Value({ name, value, inline }: { name: string; value: unknown; inline: string }): Child {
  if (Array.isArray(value))
    return (
      <ul>
        {value.map((item: unknown) => (
          <li>
            <Value name={name} value={item} inline={inline} />
          </li>
        ))}
      </ul>
    );
  if (typeof value === "object" && value !== null) {
    const { url, role } = value as { url: string; role: string };
    return (
      <>
        {role}: <Value name={name} value={url} inline={inline} />
      </>
    );
  }
  const text = String(value);
  if (name === "from_task") return <TaskLink id={text} />;
  if (name.startsWith("image") && text === "inline") return inline;
  return name !== "prompt" && /^https?:\/\//.test(text) ? (
    <a href={text} rel="noreferrer">
      {text}
    </a>
  ) : (
    text
  );
}

function Parameters({ c, task, record }: { c: ConsoleContext; task: TaskData; record: Task }) {
  const { say } = c.var;
  const { kind: _kind, reserved: _reserved, source_task: source, ...parameters } = task.metadata;
  const { characters } = record.submission;
  return (
    <Facts
      title={say("parameters")}
      rows={[
        [say("model"), task.model],
        source !== undefined && [say("remix_of"), <TaskLink id={source} />],
        characters.length > 0 && [
          say("characters"),
          characters.map(({ id, username }) => (
            <>
              <a href={`/console/characters#${id}`}>@{username}</a>{" "}
            </>
          )),
        ],
        ...Object.entries(parameters).map(
          ([name, value]) => [<code>{name}</code>, <Value name={name} value={value} inline={say("inline_picture")} />] as const,
        ),
      ]}
    />
  );
}

function Cost({ c, cost: { held, charged } }: { c: ConsoleContext; cost: { held: number; charged: number | null } }) {
  const { say } = c.var;
  const amount = (millionths: number) => amountOf(c)(toUnits(millionths));
  return (
    <Facts
      title={say("cost")}
      rows={[
        [say("cost_reserved"), amount(held)],
        [say("cost_charged"), charged === null ? say("not_yet") : amount(charged)],
        [say("cost_returned"), charged === null ? say("not_yet") : amount(held - charged)],
      ]}
    />
  );
}

function Times({ c, task, record }: { c: ConsoleContext; task: TaskData; record: Task }) {
  const { say } = c.var;
  const { createdAt, startedAt, finalAt, expiresAt } = record;
  return (
    <Facts
      title={say("times")}
      rows={[
        [say("submitted_at"), <Moment ms={createdAt} />],
        startedAt !== undefined && [say("started_at"), <Moment ms={startedAt} />],
        finalAt !== undefined && [
          say("ended_at"),
          <>
            <Moment ms={finalAt} /> ({say("after_seconds", { seconds: Math.max(1, Math.round((finalAt - createdAt) / 1000)) })})
          </>,
        ],
        expiresAt !== undefined && [
          say(isGone(task) ? "files_expired_at" : "files_expire_at"),
          isGone(task) ? (
            <Moment ms={expiresAt} />
          ) : (
            <span data-countdown={new Date(expiresAt).toISOString()}>
              <Moment ms={expiresAt} />
            </span>
          ),
        ],
      ]}
    />
  );
}

/** `GET /console/tasks/{id}`, and the answer to a form of that page that was refused. */
export async function taskPage(c: ConsoleContext, id: string, refused?: Refused) {
  const { say } = c.var;
  const found = await readTask(c, id);
  if (!found) return page(c, say("not_found"), null, 404);
  const { data: task, record } = found;
  const models = record.result?.kind === "video" ? await usableModels(c) : [];
  const cost = await costOf(c.env.DB, c.get("account").id, task.id);
  const path = `/console/tasks/${task.id}`;
  // A page at rest is renewed when its files expire.
  const renewal = isOpen(task) ? "every 2s" : task.expires_at !== undefined && !isGone(task) ? "expired" : undefined;
  return page(
    c,
    `${say(`kind_${task.metadata.kind}`)} · ${task.model}`,
    <>
      <p>
        <code id="task-id">{task.id}</code>{" "}
        <button type="button" class="outline small" hidden data-copy="task-id" data-copied={say("copied")}>
          {say("copy")}
        </button>
      </p>
      <section {...(renewal ? live(path, "task", renewal) : { id: "task" })}>
        <Problem text={refused?.refusal.text} />
        <p role="status">
          <strong>{statusWord(say, task.status)}</strong>
        </p>
        {isOpen(task) && (
          <p>
            <Progress task={task} say={say} /> <small>{say("seconds_left", { seconds: task.estimated_time ?? 1 })}</small>
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
          <p class="failure">
            {task.error.message} <code>{task.error.code}</code>
            <br />
            {say(record.step.do === "settle" ? "money_comes_back" : "money_came_back", { amount: amountOf(c)(task.metadata.reserved) })}
          </p>
        )}
        <Result task={task} result={record.result} say={say} />
        <Forms task={task} submission={record.submission} models={models} amount={amountOf(c)} refused={refused} say={say} />
        <Parameters c={c} task={task} record={record} />
        <div class="grid">
          <div>{cost && <Cost c={c} cost={cost} />}</div>
          <div>
            <Times c={c} task={task} record={record} />
          </div>
        </div>
      </section>
      <script src="/console/static/countdown.js" type="module" />
    </>,
    refused?.refusal.status ?? 200,
  );
}
