/** Tasks one a row, each with a link to its page. */

import type { TaskData } from "../answers.ts";
import { cutId } from "./ids.ts";
import { Moment } from "./moment.tsx";
import { StatusPill } from "./status.tsx";
import { Table } from "./table.tsx";
import { useAround } from "./context.ts";

/** Tasks by their ids: what was asked for is not the reader's. `path` is where their pages are. */
export const TaskTable = ({ tasks, path }: { tasks: TaskData[]; path: string }) => {
  const { say } = useAround();
  const columns = [say("task"), { name: say("model"), isExtra: true }, say("status"), { name: say("created"), isNumber: true }];
  return (
    <Table label={say("latest_tasks")} columns={columns}>
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
            <Moment ms={1000 * task.created_at} />
          </td>
        </tr>
      ))}
    </Table>
  );
};
