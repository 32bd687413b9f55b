/** `GET /v1/tasks`: rows from the ledger in order, each record from its object. The ledger does not know whether an open task runs, and which records were deleted: one read asks a bounded number of objects. */

import type { AppContext } from "../request/context.ts";
import type * as z from "zod/mini";
import type { Catalog } from "../../catalog/catalog.ts";
import { deadlineSeconds } from "../../catalog/models.ts";
import { inLanes, lanes } from "../../base/concurrency.ts";
import { lifeTimes } from "../../config.ts";
import { liveCatalog } from "../../current-catalog.ts";
import { listTasks, type Place, readPlace, type TaskPage } from "../../db/ledger-reports.ts";
import { listReferenced, readReferencedPlace } from "../../db/references.ts";
import { toObjectId } from "../../base/ids.ts";
import { retryRestart } from "../../base/retry.ts";
import { withoutOthers, withTasks } from "../../wallet/unwritten.ts";
import { answer } from "../request/answer.ts";
import { countRequest } from "../request/auth.ts";
import { isOpenAi } from "../request/origin.ts";
import { readQuery, requireRow, toList } from "../request/query.ts";
import { tasksQuery } from "../schema/queries.ts";
import { taskKinds } from "../../base/words.ts";
import { askTask } from "./status.ts";

/** The maximum number of objects that one read asks: the default of `MAX_OPEN_TASKS`, and half of the calls that the platform allows a request. */
const maxAsked = 500;
/** A list that asks more objects than the longest page needs, or more than one query of a reference's rows, counts as several reads. */
const askedPerRead = 101;
/** Rows of one query of D1, once some of them may not match. */
const pageRows = 100;
/** The same of a reference, whose rows are read whether they match or not; one read examines this many of them. */
const [referencedRows, maxExamined] = [500, 5_000];

/** All models, also those that are not sold any more, with the kinds of their tasks. */
const sorts = ({ all }: Catalog) =>
  all.flatMap(({ id, actions }) => taskKinds.filter((kind) => actions[kind]).map((kind) => ({ model: id, kind })));
/** The longest duration of a task, plus the possible delay of its settlement. */
const longestMs = 1000 * Math.max(...Object.values(deadlineSeconds)) + 3_600_000;

interface ListedTask {
  status: string;
  model: string;
  metadata: { kind: string };
}

type Query = z.output<ReturnType<typeof tasksQuery>>;
type Filters = Omit<TaskPage, "limit" | "after">;

/** Answers a page. If it would ask too many objects, or examine too many rows, it ends early, and names the task after which the next page continues. */
export async function showTasks(c: AppContext): Promise<Response> {
  const catalog = await liveCatalog(c.env.DB);
  const query = readQuery(c, () => tasksQuery(catalog));
  const { limit, status } = query;
  const asked = query.model ?? "";
  const model = catalog.named(asked)?.id ?? catalog.all.find(({ id }) => id === asked)?.id;
  // OpenAI's list of videos includes remixes.
  const isOfKind = (kind: string) => !query.kind || kind === query.kind || (kind === "remix" && isOpenAi(c.req.raw));
  const filters: Filters = {
    sorts: sorts(catalog).filter((sort) => isOfKind(sort.kind) && (!model || sort.model === model)),
    isNarrowed: query.kind !== undefined || model !== undefined,
    outcome: status === "completed" || status === "failed" ? status : status && "open",
    endedSince: Date.now() - lifeTimes(c.env).recordMs,
    longestMs,
  };
  const read = async ({ taskId }: Place): Promise<ListedTask[]> => {
    const found = await askTask(c, taskId, "generic");
    const task = found && (JSON.parse(found.text) as { data: ListedTask }).data;
    // Filtered again: D1 does not know the status of open tasks.
    const isWanted = task && (!status || task.status === status) && isOfKind(task.metadata.kind) && (!model || task.model === model);
    return isWanted ? [task] : [];
  };
  const found: ListedTask[] = [];
  let askedObjects = 0;
  let examined = 0;
  let last: Place | undefined;
  let counted = 1;
  const countReads = async (needed: number) => {
    for (; counted < needed; counted++) await countRequest(c, "read");
  };
  for await (const { rows, end, count } of readRows(c, query, filters)) {
    for (let wave: Place[]; rows.length > 0; askedObjects += wave.length) {
      if (askedObjects >= maxAsked) return answer(c, { ...toList(found, true), next_after: last?.taskId });
      wave = rows.splice(0, Math.min(maxAsked - askedObjects, Math.max(lanes, limit + 1 - found.length)));
      last = wave.at(-1);
      await countReads((askedObjects + wave.length) / askedPerRead);
      found.push(...(await inLanes(wave, read)).flat());
      if (found.length > limit) return answer(c, toList(found.slice(0, limit), true));
    }
    last = end;
    if ((examined += count) >= maxExamined) return answer(c, { ...toList(found, true), next_after: last?.taskId });
    await countReads(1 + examined / referencedRows);
  }
  return answer(c, toList(found, false));
}

/** Rows that may match, the last row that was examined for them, and how many rows of a reference were. */
interface Examined {
  rows: Place[];
  end: Place | undefined;
  count: number;
}

/** Yields the rows after `after` that may match, newest first, a query of D1 at a time. */
async function* readRows(c: AppContext, { limit, after, status, reference }: Query, filters: Filters): AsyncGenerator<Examined> {
  const { accountId } = c.get("caller");
  // Ask the wallet before D1: a task that is written in between is in both, and is listed once.
  const unwritten = await retryRestart("list", { account: accountId }, async () => c.env.WALLETS.getByName(accountId).unwritten());
  let cursor: Place | undefined;
  await requireRow(after, async (id) => {
    const isAt = (entry: (typeof unwritten)[number]) => entry.taskId === id && entry.kind !== "chat" && reference === undefined;
    const at = unwritten.find(({ taskId }) => taskId === id)?.at;
    cursor = unwritten.find(isAt) ?? (await findPlace(c, id, reference, at));
    return cursor;
  });
  const most = Math.max(limit + 1, reference === undefined ? pageRows : referencedRows);
  for (let size = status ? most : limit + 1, isLast = false; !isLast; size = most) {
    const page = { ...filters, limit: size, after: cursor };
    const read =
      reference === undefined
        ? withTasks(unwritten, await listTasks(c.env.DB, accountId, page), page)
        : await listReferenced(c.env.DB, accountId, reference, page);
    isLast = read.length < size;
    cursor = read.at(-1);
    const wanted = read.filter((row) => !("isWanted" in row) || row.isWanted === 1);
    const rows = reference === undefined ? wanted : withoutOthers(unwritten, wanted, page);
    yield { rows, end: cursor, count: reference === undefined || isLast ? 0 : read.length };
  }
}

/** The position of a task in the list, also after its record was deleted; undefined if it is not in it. Lists of a reference are in the order in which records were created. */
async function findPlace(c: AppContext, taskId: string, reference: string | undefined, heldAt?: number): Promise<Place | undefined> {
  const { accountId } = c.get("caller");
  if (!toObjectId(c.env.TASKS, taskId)) return undefined;
  if (reference !== undefined) return readReferencedPlace(c.env.DB, accountId, reference, taskId, heldAt);
  return (await readPlace(c.env.DB, accountId, taskId)) ?? c.env.OPERATIONS?.findArchived(accountId, taskId);
}
