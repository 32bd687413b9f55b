/** A table of tasks, each with a link to its page. */

import type { TaskData } from "../answers.ts";
import { cutId } from "./ids.ts";
import { DateTime } from "./date-time.tsx";
import { StatusPill } from "./status.tsx";
import { Table } from "./table.tsx";
import { useAround } from "./context.ts";

/** Tasks by their ids, because the reader may not see prompts. `path` is the path of their pages. */
export const TaskTable = ({ tasks, path }: { tasks: TaskData[]; path: string }) => {
  const { t } = useAround();
  const columns = [t("task"), { name: t("model"), isExtra: true }, t("status"), { name: t("created"), isNumber: true }];
  return (
    <Table label={t("latest_tasks")} columns={columns}>
      {tasks.map((task) => (
        <tr>
          <th scope="row">
            <a href={`${path}/${task.id}`}>
              <code title={task.id}>{cutId(task.id)}</code>
            </a>
          </th>
          <td class="hide-s">{task.model}</td>
          <td>
            <StatusPill task={task} />
          </td>
          <td class="num">
            <DateTime ms={1000 * task.created_at} />
          </td>
        </tr>
      ))}
    </Table>
  );
};
