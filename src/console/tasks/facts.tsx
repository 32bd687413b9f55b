/** The facts of a task in tables: what was asked for, what it cost, and when what happened. */

import type { Child } from "hono/jsx";
import type { Task } from "../../tasks/record.ts";
import { amountOf } from "../amounts.ts";
import type { ConsoleContext } from "../frame.tsx";
import { Moment } from "../layout.tsx";
import { isGone, type TaskData } from "./answers.ts";

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

export function Parameters({ c, task, record }: { c: ConsoleContext; task: TaskData; record: Task }) {
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

export function Cost({ c, cost: { held, charged } }: { c: ConsoleContext; cost: { held: number; charged: number | null } }) {
  const { say } = c.var;
  const amount = (millionths: number) => amountOf(c, millionths);
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

export function Times({ c, task, record }: { c: ConsoleContext; task: TaskData; record: Task }) {
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
