/** The account's tasks as tiles: filtered, searched, selectable, in pages, refreshed while one of them runs. */

import { taskKinds, taskStatuses } from "../../base/words.ts";
import { isPriced } from "../../catalog/catalog.ts";
import type { ConsoleContext } from "../context.ts";
import { liveCatalog } from "../../current-catalog.ts";
import { page } from "../frame.tsx";
import { withQuery } from "../list-address.ts";
import {
  Button,
  Choice,
  Empty,
  kindIcons,
  Link,
  NavLinks,
  Note,
  Pager,
  Problem,
  SearchForm,
  statusWord,
  useAround,
} from "../parts/index.ts";
import { hashedPath } from "../static-files.ts";
import { isOpen } from "./answers.ts";
import { live } from "./live.ts";
import { readPreviews } from "./previews.ts";
import { type Filters, findTasks } from "./search.ts";
import { Tile } from "./tile.tsx";

/** The gallery with these filters; `after` is the last task of the page before. */
const pathWith = (filters: Filters, more: Record<string, string | undefined> = {}) => withQuery("/console/tasks", { ...filters, ...more });

const Kinds = ({ filters }: { filters: Filters }) => {
  const { t } = useAround();
  const link = (kind: Filters["kind"]) => ({ path: pathWith({ ...filters, kind }), isHere: filters.kind === kind });
  const all = { ...link(undefined), text: t("any_kind") };
  const each = taskKinds.map((kind) => ({ ...link(kind), icon: kindIcons[kind], text: t(`kinds_${kind}`) }));
  return <NavLinks class="chips" label={t("kind")} of={[all, ...each]} />;
};

/** The actions on the selected tiles; visible if a tile is selected. */
const Bar = ({ filters, after }: { filters: Filters; after: string | undefined }) => {
  const { t } = useAround();
  return (
    <div class="bar" role="group" aria-label={t("chosen")}>
      <span class="num" data-chosen={t("chosen_count")} role="status" />
      <Link class="btn sm" href={pathWith(filters, { after, choose: "all" })} data-choose="all" text={t("choose_all")} />
      <Link class="btn sm" href={pathWith(filters, { after })} data-choose="none" text={t("choose_none")} />
      <Button class="btn sm push" formaction="/console/tasks/download" data-stay icon="down" text={t("download")} />
      <Button class="btn sm danger" formaction="/console/tasks/delete" icon="bin" text={t("delete")} />
    </div>
  );
};

const None = ({ isFiltered }: { isFiltered: boolean }) => {
  const { t } = useAround();
  return (
    <Empty
      icon={isFiltered ? "search" : "grid"}
      title={t(isFiltered ? "no_such_tasks" : "no_tasks")}
      text={t(isFiltered ? "no_such_tasks_hint" : "no_tasks_hint")}
    >
      <Link
        class={isFiltered ? "btn" : "btn primary"}
        href={isFiltered ? "/console/tasks" : "/console/playground"}
        text={t(isFiltered ? "all_tasks" : "open_playground")}
      />
    </Empty>
  );
};

/** The outcome of the last form, from the query. */
function readOutcome(c: ConsoleContext): { toast: string | undefined; kept: number } {
  const number = (name: string) => (/^\d{1,3}$/.test(c.req.query(name) ?? "") ? Number(c.req.query(name)) : 0);
  const deleted = number("deleted");
  return { toast: deleted > 0 ? c.var.t("tasks_deleted", { count: deleted }) : undefined, kept: number("kept") };
}

/** `GET /console/tasks?kind=&status=&model=&q=&after=` */
export async function gallery(c: ConsoleContext) {
  const { t } = c.var;
  const asked = (name: string) => c.req.query(name) || undefined;
  const filters: Filters = { kind: asked("kind"), status: asked("status"), model: asked("model"), q: asked("q") };
  const after = asked("after");
  const { tasks, next, refusal } = await findTasks(c, filters, after);
  const previews = await readPreviews(c, tasks);
  const isLive = tasks.some(isOpen);
  const isFiltered = Object.values(filters).some((value) => value !== undefined);
  const { toast, kept } = readOutcome(c);
  const here = pathWith(filters, { after });
  const models = (await liveCatalog(c.env.DB)).all.filter((model) => model.family !== "chat" && isPriced(model));
  return page(
    c,
    t("tasks"),
    <>
      <div class="sub">
        <Kinds filters={filters} />
        <span class="push row">
          <Choice
            name="model"
            any={t("logs_any_model")}
            options={models.map(({ id }) => ({ value: id, text: id }))}
            chosen={filters.model}
            to={(model) => pathWith({ ...filters, model })}
          />
          <Choice
            name="status"
            any={t("any_status")}
            options={taskStatuses.map((value) => ({ value, text: statusWord(t, value) }))}
            chosen={filters.status}
            to={(status) => pathWith({ ...filters, status })}
          />
        </span>
      </div>
      <Problem text={refusal?.text} />
      {kept > 0 && <Note tone="warn">{t("tasks_kept", { count: kept })}</Note>}
      <form method="post" action="/console/tasks/download" id="chosen">
        <section {...(isLive ? live(here, "tasks", "every 3s") : { id: "tasks" })}>
          {tasks.length === 0 && !refusal && <None isFiltered={isFiltered} />}
          <ul class="tiles">
            {tasks.map((task) => (
              <Tile task={task} preview={previews.get(task.id)} isChosen={asked("choose") === "all"} />
            ))}
          </ul>
          {isLive && (
            <noscript>
              <p>
                <a href={here}>{t("reload_progress")}</a>
              </p>
            </noscript>
          )}
          {(tasks.length > 0 || next !== undefined) && (
            <Pager
              note={t("files_kept")}
              first={after === undefined ? undefined : pathWith(filters)}
              next={next === undefined ? undefined : pathWith(filters, { after: next })}
              nextText={t(filters.q === undefined ? "older" : "search_older")}
            />
          )}
        </section>
        <Bar filters={filters} after={after} />
      </form>
      <dialog class="light" id="light" aria-labelledby="light-title" />
      <script src={hashedPath("gallery.js")} type="module" />
      <script src={hashedPath("stills.js")} type="module" />
      <script src={hashedPath("lightbox.js")} type="module" />
    </>,
    refusal?.status ?? 200,
    {
      width: "wide",
      toast,
      actions: (
        <>
          <SearchForm path="/console/tasks" filters={{ ...filters }} name="q" label={t("search_tasks")} />
          <Link class="btn primary hide-s" href="/console/playground" icon="plus" text={t("new")} />
        </>
      ),
    },
  );
}
