/** The state of a delivery, and what a bucket answered to a request, for a task's page, batches and destinations. */

import type { TaskData } from "../answers.ts";
import { useAround } from "./context.ts";
import { AgainPill, Pill } from "./status.tsx";

export type TaskDelivery = NonNullable<TaskData["delivery"]>;

type State = Pick<TaskDelivery, "status" | "next_attempt_at">;

/** True if another attempt follows later. */
export const isWaiting = ({ status, next_attempt_at: next }: State): boolean =>
  status === "pending" && next !== undefined && 1000 * next > Date.now();

export const DeliveryPill = ({ delivery }: { delivery: State }) => {
  const { t } = useAround();
  const { status, next_attempt_at: next = 0 } = delivery;
  if (status === "delivered") return <Pill icon="ok" tone="good" text={t("callback_delivered")} />;
  if (status === "failed") return <Pill icon="bad" tone="bad" text={t("delivery_failed")} />;
  if (!isWaiting(delivery)) return <Pill icon="spin" tone="run" text={t("delivery_pending")} />;
  return <AgainPill at={1000 * next} />;
};

/** The bucket's own words, or the fault. */
export const BucketAnswer = ({
  tried: { status, code, fault },
}: {
  tried: Pick<TaskDelivery["attempts"][number], "status" | "code" | "fault">;
}) => {
  const { t } = useAround();
  return <>{fault === undefined ? [`HTTP ${status ?? ""}`, code].filter(Boolean).join(" ") : t(`destination_fault_${fault}`)}</>;
};
