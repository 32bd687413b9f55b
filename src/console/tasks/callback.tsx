/** A task's callback: its URL, the outcome of each attempt, and sending it again. */

import type { ConsoleContext } from "../context.ts";
import { readCallback, type TaskCallback } from "../answers.ts";
import { askGateway } from "../frame.tsx";
import { AttemptResult, CallbackState } from "../parts/callback.tsx";
import { useAround } from "../parts/context.ts";
import { TimeOfDay } from "../parts/date-time.tsx";
import { Icon } from "../parts/icon.tsx";
import { Table } from "../parts/table.tsx";

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
      <div class="sub">
        <h2>{t("callback")}</h2>
        <CallbackState state={state} nextAt={next === undefined ? undefined : 1000 * next} />
        {url !== null && (
          <form method="post" action={`/console/tasks/${task}/callback`} class="push">
            <button class="btn sm">
              <Icon name="again" />
              {t(attempts.length === 0 ? "callback_send" : "callback_send_again")}
            </button>
          </form>
        )}
      </div>
      {url !== null && (
        <p class="said">
          <code class="id">{url}</code>
        </p>
      )}
      {attempts.length > 0 && (
        <div class="gap0">
          <Table
            label={t("callback")}
            columns={[
              "#",
              t("callback_result"),
              { name: t("callback_took"), isNumber: true },
              { name: t("callback_when"), isNumber: true },
            ]}
          >
            {attempts.map((attempt, at) => (
              <tr>
                <th scope="row">{at + 1}</th>
                <td>
                  <AttemptResult attempt={attempt} />
                </td>
                <td class="num">{attempt.ms} ms</td>
                <td class="num">
                  <TimeOfDay ms={1000 * attempt.at} />
                </td>
              </tr>
            ))}
          </Table>
        </div>
      )}
    </section>
  );
};
