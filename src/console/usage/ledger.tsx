/** The ledger, one row for each task or chat: the reserved, charged and returned amounts. */

import type { Entry } from "../../db/ledger-reports.ts";
import { useAround } from "../parts/context.ts";
import { cutId } from "../parts/ids.ts";
import { Money } from "../parts/money.tsx";
import { DateTime } from "../parts/date-time.tsx";
import { reasonText } from "../batches/state.tsx";
import { Pill, StatusPill } from "../parts/status.tsx";
import { Table } from "../parts/table.tsx";

const kinds = ["image", "video", "character", "remix", "chat"] as const;

const Outcome = ({ outcome }: { outcome: string | null }) => {
  const { t } = useAround();
  if (outcome === null) return <Pill icon="clock" text={t("usage_open")} />;
  if (outcome === "completed") return <>{t("completed")}</>;
  return (
    <>
      <StatusPill task={{ status: "failed", error: outcome }} />
      {outcome !== "cancelled" && <div class="meta">{reasonText(t, outcome)}</div>}
    </>
  );
};

/** An amount, or a dash if it is not known yet. */
const Amount = ({ of }: { of: number | null }) => (of === null ? <>–</> : <Money millionths={of} />);

export const Ledger = ({ entries }: { entries: Entry[] }) => {
  const { t } = useAround();
  if (entries.length === 0) return <p class="muted">{t("usage_no_charges")}</p>;
  const number = (name: string, isExtra = false) => ({ name, isNumber: true, isExtra });
  return (
    <Table
      label={t("usage_charges")}
      columns={[
        t("usage_submitted"),
        { name: t("kind"), isExtra: true },
        t("model"),
        { name: t("task"), isExtra: true },
        { name: t("usage_key"), isExtra: true },
        number(t("reserved"), true),
        number(t("usage_charged")),
        number(t("usage_returned"), true),
        { name: t("status"), isExtra: true },
      ]}
    >
      {entries.map((entry) => (
        <Row entry={entry} />
      ))}
    </Table>
  );
};

const Row = ({ entry }: { entry: Entry }) => {
  const { t } = useAround();
  const { taskId, model, keyName, held, charged } = entry;
  const kind = kinds.find((name) => name === entry.kind);
  const id = <code title={taskId}>{cutId(taskId)}</code>;
  return (
    <tr>
      <th scope="row">
        <DateTime ms={entry.at} />
      </th>
      <td class="hide-s">{kind ? t(`usage_${kind}`) : entry.kind}</td>
      <td>{model}</td>
      <td class="hide-s">{kind === "chat" ? id : <a href={`/console/tasks/${taskId}`}>{id}</a>}</td>
      <td class="hide-s wrap">{keyName}</td>
      <td class="num hide-s">
        <Amount of={held} />
      </td>
      <td class="num">
        <Amount of={charged} />
      </td>
      <td class="num hide-s">
        <Amount of={charged === null ? null : held - charged} />
      </td>
      <td class="hide-s">
        <Outcome outcome={entry.outcome} />
      </td>
    </tr>
  );
};
