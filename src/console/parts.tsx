/** Pieces that several pages are made of: tables, figures, the field of a new password. */

import type { Child } from "hono/jsx";
import type { ConsoleContext } from "./frame.tsx";
import { Moment } from "./layout.tsx";
import type { Say } from "./messages.ts";
import { leastPasswordLength, mostPasswordLength } from "./password-hash.ts";

interface TableProps {
  /** What it is called for those who do not see it. */
  label: string;
  /** An empty one is over buttons and links. */
  columns: string[];
  class?: string;
  /** Its rows. */
  children?: Child;
}

/** A table that scrolls by itself where it is too wide, also by keyboard. */
export const Table = ({ label, columns, class: name, children }: TableProps) => (
  <div class="overflow-auto" tabindex={0} role="region" aria-label={label}>
    <table class={name}>
      <thead>
        <tr>{columns.map((column) => (column === "" ? <td /> : <th scope="col">{column}</th>))}</tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  </div>
);

/** Numbers, large, each under its name. */
export const Figures = ({ of }: { of: (readonly [name: Child, figure: Child])[] }) => (
  <dl class="figures">
    {of.map(([name, figure]) => (
      <div>
        <dt>{name}</dt>
        <dd>{figure}</dd>
      </div>
    ))}
  </dl>
);

/** A task as `GET /v1/tasks` lists it. */
export interface TaskRow {
  id: string;
  model: string;
  status: "queued" | "in_progress" | "completed" | "failed";
  created_at: number;
}

export const statusWord = (say: Say, status: TaskRow["status"]) => say(status === "failed" ? "failed_status" : status);

/** Tasks, each with a link to its page below `path`. */
export const TaskTable = ({ c, tasks, path }: { c: ConsoleContext; tasks: TaskRow[]; path: string }) => {
  const { say } = c.var;
  return (
    <Table label={say("latest_tasks")} columns={[say("task"), say("model"), say("status"), say("created")]}>
      {tasks.map((task) => (
        <tr>
          <th scope="row" class="wide">
            <a href={`${path}/${task.id}`}>
              <code>{task.id}</code>
            </a>
          </th>
          <td>{task.model}</td>
          <td>{statusWord(say, task.status)}</td>
          <td>
            <Moment ms={1000 * task.created_at} />
          </td>
        </tr>
      ))}
    </Table>
  );
};

/** The field for a password that is new. */
export const NewPassword = ({ label }: { label: string }) => (
  <label>
    {label}
    <input
      type="password"
      name="password"
      autocomplete="new-password"
      minlength={leastPasswordLength}
      maxlength={mostPasswordLength}
      required
    />
  </label>
);
