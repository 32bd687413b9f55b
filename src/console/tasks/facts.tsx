/** Tables of a task's facts: its parameters, cost and times. */

import type { Child } from "hono/jsx";
import type { Task } from "../../tasks/record.ts";
import type { ConsoleContext } from "../frame.tsx";
import type { TaskData } from "../answers.ts";
import { isGone } from "./answers.ts";
import { Money } from "../parts/money.tsx";
import { ClockTime } from "../parts/date-time.tsx";
import { Facts } from "../parts/table.tsx";

type Row = readonly [name: Child, value: Child] | false | undefined;

const FactsSection = ({ title, rows, isReceipt = false }: { title: string; rows: Row[]; isReceipt?: boolean }) => (
  <section>
    <div class="sub">
      <h2>{title}</h2>
    </div>
    <Facts of={rows} isReceipt={isReceipt} />
  </section>
);

const TaskLink = ({ id }: { id: string }) => (
  <a href={`/console/tasks/${id}`}>
    <code>{id}</code>
  </a>
);

/** A parameter's value: URLs are links, other tasks link to their pages, inline images are only mentioned. */
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
    <FactsSection
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
          ([name, value]) => [<code>{name}</code>, <Value name={name} value={value} inline={say("inline_image")} />] as const,
        ),
      ]}
    />
  );
}

export function Cost({ c, cost: { held, charged } }: { c: ConsoleContext; cost: { held: number; charged: number | null } }) {
  const { say } = c.var;
  const amount = (millionths: number) => <Money millionths={millionths} />;
  return (
    <FactsSection
      title={say("cost")}
      rows={[
        [say("cost_reserved"), amount(held)],
        [say("cost_returned"), charged === null ? say("not_yet") : amount(held - charged)],
        [say("cost_charged"), charged === null ? say("not_yet") : amount(charged)],
      ]}
      isReceipt
    />
  );
}

export function Times({ c, task, record }: { c: ConsoleContext; task: TaskData; record: Task }) {
  const { say } = c.var;
  const { createdAt, startedAt, finalAt, expiresAt } = record;
  return (
    <FactsSection
      title={say("times")}
      rows={[
        [say("submitted_at"), <ClockTime ms={createdAt} />],
        startedAt !== undefined && [say("started_at"), <ClockTime ms={startedAt} />],
        finalAt !== undefined && [
          say("ended_at"),
          <>
            <ClockTime ms={finalAt} /> ({say("after_seconds", { seconds: Math.max(1, Math.round((finalAt - createdAt) / 1000)) })})
          </>,
        ],
        expiresAt !== undefined && [
          say(isGone(task) ? "files_expired_at" : "files_expire_at"),
          isGone(task) ? (
            <ClockTime ms={expiresAt} />
          ) : (
            <span data-countdown={new Date(expiresAt).toISOString()}>
              <ClockTime ms={expiresAt} />
            </span>
          ),
        ],
      ]}
    />
  );
}
