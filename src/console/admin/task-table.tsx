/** A table of tasks, each with a link to its page. */

import type { TaskData } from "../answers.ts";
import { cutId, DataTable, DateTime, StatusPill, useAround } from "../parts/index.ts";

/** Tasks by their ids, because the reader may not see prompts. `path` is the path of their pages. */
export const TaskTable = ({ tasks, path }: { tasks: TaskData[]; path: string }) => {
  const { t } = useAround();
  return (
    <DataTable
      label={t("latest_tasks")}
      rows={tasks}
      columns={[
        {
          name: t("task"),
          cell: ({ id }) => (
            <a href={`${path}/${id}`}>
              <code title={id}>{cutId(id)}</code>
            </a>
          ),
        },
        { name: t("model"), isExtra: true, cell: ({ model }) => model },
        { name: t("status"), cell: (task) => <StatusPill task={task} /> },
        { name: t("created"), isNumber: true, isExtra: true, cell: (task) => <DateTime ms={1000 * task.created_at} /> },
      ]}
    />
  );
};
