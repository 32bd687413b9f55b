/** A task's delivery: where its files go, which have arrived, the outcome of each attempt, and the button that delivers them again. */

import type { TaskData } from "../answers.ts";
import { AttemptTable, BucketAnswer, Button, DeliveryPill, isWaiting, SectionHead, useAround } from "../parts/index.ts";
import { isGone } from "./answers.ts";

/** `place`: the destination of the request; undefined for a presigned URL. */
export const Delivery = ({ task, place }: { task: TaskData; place: string | undefined }) => {
  const { t } = useAround();
  const { delivery } = task;
  if (!delivery) return null;
  const { status, files, attempts } = delivery;
  const isLater = isWaiting(delivery);
  return (
    <section id="delivery">
      <SectionHead title={t("delivery")}>
        <DeliveryPill delivery={delivery} />
        {!isGone(task) && (status !== "pending" || isLater) && (
          <form method="post" action={`/console/tasks/${task.id}/delivery`} class="push">
            <Button class="btn sm" icon="again" text={t(isLater ? "delivery_now" : "delivery_again")} />
          </form>
        )}
      </SectionHead>
      <p class="muted">
        {t("deliver_to")}: {place ?? t("delivery_to_url")}
      </p>
      {files.length > 0 && (
        <ul class="plain-list" aria-label={t("delivery_files")}>
          {files.map(({ url }) => (
            <li>
              <code class="id path">{url}</code>
            </li>
          ))}
        </ul>
      )}
      <AttemptTable label={t("delivery_attempts")} attempts={attempts} outcome={(attempt) => <BucketAnswer tried={attempt} />} />
    </section>
  );
};
