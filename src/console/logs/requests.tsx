/** Requests as table rows: time, method and path with the error, status, model, key, duration and cost. Each leads to its page. */

import type { RequestEntry } from "../../db/request-pages.ts";
import { isSubmission } from "../../db/requests.ts";
import { type Language, t as sentence } from "../../messages/index.ts";
import { cutId, dateText, Money, Pill, spanText, Table, TimeOfDay, useAround } from "../parts/index.ts";
import { beside } from "./beside.ts";
import { type Charge, isOfTask } from "./costs.ts";

/** The colour of a status: success, refusals that may be retried, other errors. */
export function look(status: number): { icon: string; tone: "" | "good" | "warn" | "bad" } {
  if (status < 400) return { icon: "ok", tone: "good" };
  return status === 429 || status === 503 ? { icon: "again", tone: "warn" } : { icon: "bad", tone: "bad" };
}

/** Ids of tasks in a path are cut. */
const shortPath = (text: string) => text.replace(/task_[\w-]{12,}/, cutId);

/** What the answer said of its error; for lines without it, and of tasks that failed later, what the code means. */
export const errorText = (language: Language, code: string, message?: string) => message ?? sentence(language, code);

/** What was charged, or in grey what is held. */
export const Cost = ({ charge: { held, charged } }: { charge: Charge }) => {
  const { t } = useAround();
  return (
    <span class={charged === null ? "muted" : undefined} title={charged === null ? t("reserved") : undefined}>
      <Money millionths={charged ?? held} />
    </span>
  );
};

interface RowProps {
  entry: RequestEntry;
  keyName: string | undefined;
  /** Of a submission, if it is known. `charged` is null until the end. */
  charge: Charge | undefined;
  /** True if it stands beside the list. */
  isOpen: boolean;
  /** The list with it beside. */
  to: string;
}

const Row = ({ entry, keyName, charge, isOpen, to }: RowProps) => {
  const { t, language } = useAround();
  const { at, request, path, status, outcome, message, ms, task, model } = entry;
  const failed = charge?.outcome !== undefined && charge.outcome !== "completed" ? charge.outcome : undefined;
  const error = outcome === "ok" ? failed : outcome;
  const reason = error === undefined ? charge?.rescue : `${error}: ${errorText(language, error, outcome === "ok" ? undefined : message)}`;
  const [method = "", place = ""] = path.split(" ");
  return (
    <tr id={`row-${request}`} aria-current={isOpen ? "true" : undefined}>
      <th scope="row">
        <TimeOfDay ms={at} /> <span class="meta hide-s">{dateText(language, at)}</span>
      </th>
      <td class="hide-s">
        <span class="tag">{method}</span>
      </td>
      <td class="grow" title={place}>
        <a class="plain path clip" href={isOfTask(entry) ? `/console/tasks/${task}` : `/console/logs/${request}`} {...beside(to)}>
          <code>{shortPath(place)}</code>
        </a>
        {reason && <span class="meta path">{reason}</span>}
      </td>
      <td>
        {failed !== undefined && failed !== "cancelled" ? (
          <Pill icon="bad" tone="bad" text={t("failed_status")} />
        ) : (
          <Pill {...look(status)} text={String(status)} />
        )}
      </td>
      <td class="hide-s">{model ?? "–"}</td>
      <td class="hide-s cut" title={keyName}>
        {keyName ?? t("logs_key_gone")}
      </td>
      <td class="num hide-s">{spanText(language, ms)}</td>
      <td class="num hide-s">{charge === undefined ? "–" : <Cost charge={charge} />}</td>
    </tr>
  );
};

interface RequestsProps {
  entries: RequestEntry[];
  keyNames: ReadonlyMap<string, string>;
  /** Of submissions, by task. */
  charges: ReadonlyMap<string, Charge>;
  /** The request beside the list. */
  open: string | undefined;
  /** The address of the list with a request beside it. */
  to: (entry: RequestEntry) => string;
}

export const Requests = ({ entries, keyNames, charges, open, to }: RequestsProps) => {
  const { t } = useAround();
  return (
    <Table
      label={t("logs")}
      class="logs"
      columns={[
        t("logs_time"),
        { name: t("logs_method"), isExtra: true },
        t("logs_path"),
        t("status"),
        { name: t("model"), isExtra: true },
        { name: t("usage_key"), isExtra: true },
        { name: t("callback_took"), isNumber: true, isExtra: true },
        { name: t("cost"), isNumber: true, isExtra: true },
      ]}
    >
      {entries.map((entry) => (
        <Row
          entry={entry}
          keyName={entry.key === undefined ? undefined : keyNames.get(entry.key)}
          isOpen={entry.request === open}
          to={to(entry)}
          charge={entry.task !== undefined && isSubmission(entry) ? charges.get(entry.task) : undefined}
        />
      ))}
    </Table>
  );
};
