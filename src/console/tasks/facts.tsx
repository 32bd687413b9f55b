/** Shown beside a task's result: its details, its timeline, its receipt. */

import type { ConsoleContext } from "../context.ts";
import type { Child } from "hono/jsx";
import { isFinal, type Task } from "../../tasks/record.ts";
import type { TaskData } from "../answers.ts";
import { formatAmount } from "../amounts.ts";
import { fieldLabel, labelParts, valueLabel } from "../messages/playground-fields.ts";
import {
  ClockTime,
  CopiedId,
  cutId,
  Facts,
  Money,
  shownStatus,
  statusWord,
  taskCredentials,
  TimeOfDay,
  useAround,
} from "../parts/index.ts";
import { isGone } from "./answers.ts";

const TaskLink = ({ id }: { id: string }) => (
  <a href={`/console/tasks/${id}`} title={id}>
    <code class="id">{cutId(id)}</code>
  </a>
);

/** A parameter's value: URLs become links, task ids link to their pages, inline images are only mentioned. */
const Value = ({ name, value }: { name: string; value: unknown }): Child => {
  const { t, language } = useAround();
  if (Array.isArray(value)) return value.map((item: unknown, at) => [at > 0 && <br />, <Value name={name} value={item} />]);
  if (typeof value === "object" && value !== null) {
    const { url, role } = value as { url: string; role: string };
    return (
      <>
        {valueLabel(language, role)}: <Value name={name} value={url} />
      </>
    );
  }
  if (typeof value === "boolean") return t(value ? "yes" : "no");
  const text = String(value);
  if (name === "duration") return t("length_seconds", { seconds: text });
  if (name === "timestamps") return t("length_seconds", { seconds: text.replace(",", "–") });
  if (name === "from_task") return <TaskLink id={text} />;
  if (name.startsWith("image") && text === "inline") return t("inline_image");
  return /^https?:\/\//.test(text) ? (
    <a href={text} rel="noreferrer" title={text}>
      {URL.parse(text)?.host ?? text}
    </a>
  ) : (
    // Words that a model knows; a reference is the caller's own text.
    <>{name === "quality" || name === "style" ? valueLabel(language, text) : text}</>
  );
};

/** `keyName` is the name of the key with which it was submitted, if that still exists. */
export const Details = ({ task, record, keyName }: { task: TaskData; record: Task; keyName: string | undefined }) => {
  const { t, language } = useAround();
  const { kind, reserved: _reserved, prompt: _prompt, source_task: source, ...parameters } = task.metadata;
  const { characters } = record.submission;
  const { expiresAt } = record;
  const credentials = taskCredentials(task);
  return (
    <section>
      <h2>{t("task_details")}</h2>
      <Facts
        of={[
          [t("model"), task.model],
          [t("kind"), t(`kind_${kind}`)],
          source !== undefined && [t("remix_of"), <TaskLink id={source} />],
          characters.length > 0 && [
            t("characters"),
            characters.map(({ id, username }) => [<a href={`/console/characters#${id}`}>@{username}</a>, " "]),
          ],
          ...Object.entries(parameters).map(
            ([name, value]) => [labelParts(fieldLabel(language, name))[0], <Value name={name} value={value} />] as const,
          ),
          record.result?.kind === "video" && [t("pixels"), `${record.result.width} × ${record.result.height}`],
          credentials && [t("credential"), t(`credential_${credentials}`)],
          keyName !== undefined && [t("usage_key"), keyName],
          [t("task"), <CopiedId id={task.id} of="task-id" name={t("task")} />],
          expiresAt !== undefined && [
            t(isGone(task) ? "files_gone" : "files_expire_at"),
            isGone(task) ? (
              <ClockTime ms={expiresAt} />
            ) : (
              <span data-countdown={new Date(expiresAt).toISOString()}>
                <TimeOfDay ms={expiresAt} />
              </span>
            ),
          ],
        ]}
      />
    </section>
  );
};

interface Moment {
  at: number;
  tone: "good" | "bad" | "warn" | "run" | "";
  text: string;
  hint?: string | undefined;
}

/** The timeline: the past and current steps of the task. */
function listMoments(
  task: TaskData,
  { createdAt, startedAt, finalAt, step, charged, callback }: Task,
  t: ReturnType<typeof useAround>["t"],
): Moment[] {
  const status = shownStatus(task);
  const seconds = Math.max(1, Math.round(((finalAt ?? 0) - createdAt) / 1000));
  const tone = ({ completed: "good", failed: "bad" } as const)[status as "completed"] ?? "";
  const last = callback?.attempts.at(-1);
  return [
    { at: createdAt, tone: "good", text: t("submitted_at") },
    ...(startedAt === undefined ? [] : [{ at: startedAt, tone: "good" as const, text: t("started_at") }]),
    ...(finalAt === undefined
      ? [{ at: Date.now(), tone: "run" as const, text: t(startedAt === undefined ? "waits_in_queue" : "being_made") }]
      : [{ at: finalAt, tone, text: statusWord(t, status), hint: t("after_seconds", { seconds }) }]),
    ...(finalAt !== undefined && charged === 0 && status !== "completed" && step.do !== "settle"
      ? [{ at: finalAt, tone: "good" as const, text: t("money_returned") }]
      : []),
    ...(callback?.state === "delivered" && last ? [{ at: last.at, tone: "good" as const, text: t("callback_delivered") }] : []),
  ];
}

export const Timeline = ({ task, record }: { task: TaskData; record: Task }) => {
  const { t } = useAround();
  return (
    <section>
      <h2>{t("task_timeline")}</h2>
      <div class="pt">
        <ol class="time">
          {listMoments(task, record, t).map(({ at, tone, text, hint }) => (
            <li data-s={tone}>
              <span>{text}</span>
              <span class="meta num">{tone === "run" ? t("now") : <TimeOfDay ms={at} />}</span>
              {hint !== undefined && <p class="meta">{hint}</p>}
            </li>
          ))}
        </ol>
      </div>
    </section>
  );
};

interface ReceiptProps {
  c: ConsoleContext;
  record: Task;
  /** In millionths; the charge is null until the task is settled. */
  cost: { held: number; charged: number | null };
}

export const Receipt = ({ c, record, cost: { held, charged } }: ReceiptProps) => {
  const { t } = useAround();
  const { price, imagePrice, parameters, kind } = record.submission;
  const seconds = kind === "video" || kind === "remix" ? parameters.duration : undefined;
  const [count, each] = imagePrice === undefined ? [seconds, seconds && price / seconds] : [price / imagePrice, imagePrice];
  return (
    <section>
      <h2>{t("task_receipt")}</h2>
      <Facts
        isReceipt
        of={[
          count !== undefined &&
            each !== undefined && [
              `${imagePrice === undefined ? t("length_seconds", { seconds: count }) : count} × ${formatAmount(c, Math.round(each))}`,
              <Money millionths={price} />,
            ],
          [t("reserved"), <Money millionths={held} />],
          [t("usage_returned"), charged === null ? t("not_yet") : <Money millionths={held - charged} />],
          [t("usage_charged"), charged === null ? t("not_yet") : <Money millionths={charged} />],
        ]}
      />
      {isFinal(record) && (
        <p class="gap0">
          <a class="t13" href={`/console/tasks/${record.id}/receipt`} download={`${record.id}-receipt.json`}>
            {t("signed_receipt")}
          </a>
        </p>
      )}
    </section>
  );
};
