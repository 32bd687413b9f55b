/** A task's callback: its URL, the outcome of each attempt, and sending it again. */

import type { ConsoleContext } from "../context.ts";
import { readCallback, type TaskCallback } from "../answers.ts";
import { askGateway } from "../gateway.ts";
import { AttemptResult, AttemptTable, Button, CallbackState, SectionHead, useAround } from "../parts/index.ts";

/** The callback of a final task; undefined if it never had one and there is no URL to send it to. */
export async function readTaskCallback(c: ConsoleContext, id: string): Promise<TaskCallback | undefined> {
  const answer = await askGateway(c, `/v1/tasks/${id}/callback`);
  const callback = answer.ok ? await readCallback(answer) : undefined;
  return callback && (callback.url !== null || callback.attempts.length > 0) ? callback : undefined;
}

export const Callback = ({ callback: { task, url, state, attempts, next_attempt_at: next } }: { callback: TaskCallback }) => {
  const { t } = useAround();
  return (
    <section id="callback">
      <SectionHead title={t("callback")}>
        <CallbackState state={state} nextAt={next === undefined ? undefined : 1000 * next} />
        {url !== null && (
          <form method="post" action={`/console/tasks/${task}/callback`} class="push">
            <Button class="btn sm" icon="again" text={t(attempts.length === 0 ? "send" : "send_again")} />
          </form>
        )}
      </SectionHead>
      {url !== null && (
        <p class="said">
          <code class="id">{url}</code>
        </p>
      )}
      <AttemptTable label={t("callback")} attempts={attempts} outcome={(attempt) => <AttemptResult attempt={attempt} />} />
    </section>
  );
};
