/** The ledger, one row for each task or chat: what was reserved, charged and returned. */

import { Table } from "../parts.tsx";
import type { Entry } from "../../db/ledger-reports.ts";
import { amountIn } from "../amounts.ts";
import type { ConsoleContext } from "../frame.tsx";
import { Moment } from "../layout.tsx";

const kinds = ["image", "video", "character", "remix", "chat"] as const;

const Outcome = ({ c, outcome }: { c: ConsoleContext; outcome: string | null }) => {
  const { say } = c.var;
  if (outcome === null) return <>{say("usage_open")}</>;
  if (outcome === "completed") return <>{say("completed")}</>;
  return (
    <>
      {say("failed_status")}: <code>{outcome}</code>
    </>
  );
};

/** Enough of an id to tell it from others; the whole one is in the link and in the file. */
const Id = ({ of: { taskId } }: { of: Entry }) => <code>{taskId.length > 18 ? `${taskId.slice(0, 14)}…` : taskId}</code>;

export const Ledger = ({ c, entries }: { c: ConsoleContext; entries: Entry[] }) => {
  const { say, language } = c.var;
  if (entries.length === 0) return <p>{say("usage_no_charges")}</p>;
  const amount = (millionths: number | null) => (millionths === null ? "–" : amountIn(language, millionths));
  return (
    <Table
      class="dense"
      label={say("usage_charges")}
      columns={[
        say("usage_submitted"),
        say("usage_kind"),
        say("model"),
        say("task"),
        say("usage_key"),
        say("reserved"),
        say("usage_charged"),
        say("usage_returned"),
        say("status"),
        say("usage_ended"),
      ]}
    >
      {entries.map((entry) => {
        const kind = kinds.find((name) => name === entry.kind);
        return (
          <tr>
            <th scope="row">
              <Moment ms={entry.at} />
            </th>
            <td>{kind ? say(`usage_${kind}`) : entry.kind}</td>
            <td>{entry.model}</td>
            <td>
              {kind === "chat" ? (
                <Id of={entry} />
              ) : (
                <a href={`/console/tasks/${entry.taskId}`}>
                  <Id of={entry} />
                </a>
              )}
            </td>
            <td class="name">{entry.keyName}</td>
            <td>{amount(entry.held)}</td>
            <td>{amount(entry.charged)}</td>
            <td>{amount(entry.charged === null ? null : entry.held - entry.charged)}</td>
            <td>
              <Outcome c={c} outcome={entry.outcome} />
            </td>
            <td>{entry.closedAt === null ? "–" : <Moment ms={entry.closedAt} />}</td>
          </tr>
        );
      })}
    </Table>
  );
};
