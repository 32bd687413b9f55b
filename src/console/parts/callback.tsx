/** The outcome of calls to receivers of callbacks, for a task's page and the webhooks page. */

import type { CallbackAttempt } from "../answers.ts";
import { useAround } from "./context.ts";
import { AgainPill, Pill } from "./status.tsx";

const isDelivered = ({ status }: Pick<CallbackAttempt, "status">) => status !== undefined && status >= 200 && status < 300;

/** A receiver's HTTP status, or the reason why it did not answer. */
export const AttemptResult = ({ attempt }: { attempt: Pick<CallbackAttempt, "status" | "fault"> }) => {
  const { t } = useAround();
  const isGood = isDelivered(attempt);
  const text = attempt.status === undefined ? t(`fault_${attempt.fault ?? "interrupted"}`) : String(attempt.status);
  return <Pill icon={isGood ? "ok" : "bad"} tone={isGood ? "good" : "bad"} text={text} />;
};

/** The state of a callback, and the time of the next attempt (milliseconds). */
export const CallbackState = ({ state, nextAt }: { state: string; nextAt?: number | undefined }) => {
  const { t } = useAround();
  switch (state) {
    case "delivered":
      return <Pill icon="ok" tone="good" text={t("callback_delivered")} />;
    case "pending":
      return nextAt === undefined ? <Pill icon="spin" tone="run" text={t("callback_pending")} /> : <AgainPill at={nextAt} />;
    case "gone":
    case "failed":
      return <Pill icon="bad" tone="bad" text={t(`callback_${state}`)} />;
    default:
      return <Pill icon="ban" text={t("callback_none")} />;
  }
};
