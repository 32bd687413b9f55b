/** The ledger, one row for each task or chat: the reserved, charged and returned amounts. */

import { workKinds } from "../../base/words.ts";
import type { Action } from "../../catalog/models.ts";
import type { Entry } from "../../db/ledger-reports.ts";
import { cutId, DataTable, DateTime, Money, Pill, StatusPill, useAround } from "../parts/index.ts";
import { reasonText } from "../batches/state.tsx";

const isKnown = (kind: string): kind is Action => workKinds.some((known) => known === kind);

const Outcome = ({ outcome }: { outcome: string | null }) => {
  const { t } = useAround();
  if (outcome === null) return <Pill icon="clock" text={t("usage_open")} />;
  if (outcome === "completed") return <>{t("completed")}</>;
  // No task or chat has failed (`Outcome` in `db/ledger.ts`).
  if (outcome === "refused") return <Pill icon="ban" text={t("batch_refused")} />;
  return (
    <>
      <StatusPill task={{ status: "failed", error: outcome }} />
      {outcome !== "cancelled" && <div class="meta">{reasonText(t, outcome)}</div>}
    </>
  );
};

/** The id of a task, with a link to its page; a chat has none. */
const TaskId = ({ entry: { taskId, kind } }: { entry: Entry }) => {
  const id = <code title={taskId}>{cutId(taskId)}</code>;
  return kind === "chat" ? id : <a href={`/console/tasks/${taskId}`}>{id}</a>;
};

export const Ledger = ({ entries }: { entries: Entry[] }) => {
  const { t } = useAround();
  return (
    <DataTable
      label={t("usage_charges")}
      none={t("usage_no_charges")}
      rows={entries}
      columns={[
        { name: t("submitted_at"), cell: ({ at }) => <DateTime ms={at} /> },
        { name: t("kind"), isExtra: true, cell: ({ kind }) => (isKnown(kind) ? t(`kind_${kind}`) : kind) },
        { name: t("model"), cell: ({ model }) => model },
        { name: t("task"), isExtra: true, cell: (entry) => <TaskId entry={entry} /> },
        { name: t("usage_key"), isExtra: true, class: "wrap", cell: ({ keyName }) => keyName },
        { name: t("reserved"), isNumber: true, isExtra: true, cell: ({ held }) => <Money millionths={held} /> },
        { name: t("usage_charged"), isNumber: true, cell: ({ charged }) => (charged === null ? "–" : <Money millionths={charged} />) },
        {
          name: t("usage_returned"),
          isNumber: true,
          isExtra: true,
          cell: ({ held, charged }) => (charged === null ? "–" : <Money millionths={held - charged} />),
        },
        { name: t("status"), isExtra: true, cell: ({ outcome }) => <Outcome outcome={outcome} /> },
      ]}
    />
  );
};
