/** Requests as table rows: time, method and path, status, key, duration and id. */

import type { RequestEntry } from "../../db/requests.ts";
import { Copy } from "../parts/copy.tsx";
import { useAround } from "../parts/context.ts";
import { dateText, TimeOfDay } from "../parts/date-time.tsx";
import { cutId } from "../parts/ids.ts";
import { Pill } from "../parts/status.tsx";
import { Table } from "../parts/table.tsx";

/** The colour of a status: success, refusals that may be retried, other errors. */
function look(status: number): { icon: string; tone: "" | "good" | "warn" | "bad" } {
  if (status < 400) return { icon: "ok", tone: "good" };
  return status === 429 || status === 503 ? { icon: "again", tone: "warn" } : { icon: "bad", tone: "bad" };
}

/** Milliseconds below a second, seconds above. */
function duration(language: string, ms: number): string {
  if (ms < 1000) return `${ms} ms`;
  return `${(ms / 1000).toLocaleString(language, { maximumSignificantDigits: 3 })} s`;
}

/** Ids of tasks in a path are cut. */
const shortPath = (text: string) => text.replace(/task_[\w-]{12,}/, cutId);

const Row = ({ entry, keyName }: { entry: RequestEntry; keyName: string | undefined }) => {
  const { t, language } = useAround();
  const { at, request, path, status, outcome, ms, task, model } = entry;
  const [method = "", place = ""] = path.split(" ");
  const id = `request-${request}`;
  return (
    <tr id={`row-${request}`}>
      <th scope="row">
        <TimeOfDay ms={at} /> <span class="meta hide-s">{dateText(language, at)}</span>
      </th>
      <td class="hide-s">
        <span class="tag">{method}</span>
      </td>
      <td title={place}>
        {task !== undefined && status < 400 && method !== "DELETE" ? (
          <a class="plain path clip" href={`/console/tasks/${task}`}>
            <code>{shortPath(place)}</code>
          </a>
        ) : (
          <span class="path clip">
            <code>{shortPath(place)}</code>
          </span>
        )}
        {outcome !== "ok" && <span class="meta path clip">{outcome}</span>}
      </td>
      <td>
        <Pill {...look(status)} text={String(status)} />
      </td>
      <td class="hide-s">{model ?? "–"}</td>
      <td class="hide-s cut" title={keyName}>
        {keyName ?? t("logs_key_gone")}
      </td>
      <td class="num hide-s">{duration(language, ms)}</td>
      <td class="num hide-s">
        <span class="row end">
          <code class="id" title={request}>
            {cutId(request)}
          </code>
          <span id={id} hidden>
            {request}
          </span>
          <Copy of={id} label={t("logs_copy", { id: cutId(request) })} isIcon />
        </span>
      </td>
    </tr>
  );
};

export const Requests = ({ entries, keyNames }: { entries: RequestEntry[]; keyNames: ReadonlyMap<string, string> }) => {
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
        { name: t("task_key"), isExtra: true },
        { name: t("callback_took"), isNumber: true, isExtra: true },
        { name: t("logs_request"), isNumber: true, isExtra: true },
      ]}
    >
      {entries.map((entry) => (
        <Row entry={entry} keyName={entry.key === undefined ? undefined : keyNames.get(entry.key)} />
      ))}
    </Table>
  );
};
