/** The status of a task as a pill: icon, word and colour. */

import type { taskStatuses } from "../../base/words.ts";
import type { Translate } from "../messages.ts";
import { useAround } from "./context.ts";
import { relativeTime } from "./date-time.tsx";
import { Icon } from "./icon.tsx";

/** A task's status on pages: a cancelled task is not shown as failed. */
export type ShownStatus = (typeof taskStatuses)[number] | "cancelled";

interface HasStatus {
  status: ShownStatus;
  /** The reason of a failure: its code, or an object with the code. */
  error?: string | { code: string } | undefined;
}

export function shownStatus({ status, error }: HasStatus): ShownStatus {
  const code = typeof error === "object" ? error.code : error;
  return status === "failed" && code === "cancelled" ? "cancelled" : status;
}

export const statusWord = (t: Translate, status: ShownStatus) => t(status === "failed" ? "failed_status" : status);

const looks = {
  queued: { icon: "clock", tone: "" },
  in_progress: { icon: "spin", tone: "run" },
  completed: { icon: "ok", tone: "good" },
  failed: { icon: "bad", tone: "bad" },
  cancelled: { icon: "ban", tone: "" },
} as const;

/** A state as a pill: grey is waiting, `run` is working, `good` is done, `bad` failed, `warn` needs attention. */
export const Pill = ({ icon, tone = "", text }: { icon: string; tone?: "" | "run" | "good" | "bad" | "warn"; text: string }) => (
  <span class="pill" data-s={tone}>
    <Icon name={icon} />
    {text}
  </span>
);

/** An attempt failed; the next one follows at this time (milliseconds), which is said to the minute. */
export const AgainPill = ({ at }: { at: number }) => {
  const { t, language } = useAround();
  const now = Date.now();
  return <Pill icon="again" tone="warn" text={t("again_at", { when: relativeTime(language, Math.max(at, now + 60_000), now) })} />;
};

export const StatusPill = ({ task }: { task: HasStatus }) => {
  const { t } = useAround();
  const status = shownStatus(task);
  return <Pill {...looks[status]} text={statusWord(t, status)} />;
};
