/** All data of the playground's page: the form with the typed values, its price, the runs beside it. */

import type { ConsoleContext } from "../context.ts";
import { findHelper } from "../billing/credit.tsx";
import { listDestinations } from "../../db/destinations.ts";
import { remaining } from "../../db/ledger.ts";
import { type TaskData, taskPrompt, readTask } from "../answers.ts";
import { askGateway } from "../gateway.ts";
import { readBalance } from "../ledger.ts";
import { type Preview, readPreviews } from "../tasks/previews.ts";
import type { OutOfBalanceProps } from "../parts/out-of-balance.tsx";
import { taskPath } from "../parts/ids.ts";
import { listTasks } from "../tasks/answers.ts";
import { buildBody, computeHold, type Images } from "./body.ts";
import { type Choice, toRequest } from "./choices.ts";
import { carriedOver, type Field, formFields, type Typed } from "./fields.ts";
import { maxCompared } from "./picker.tsx";

/** The input from which a view is built. */
export interface Shown {
  choices: Choice[];
  choice: Choice;
  typed: Typed;
  images?: Images | undefined;
  /** Errors of the whole form. */
  problem?: string | undefined;
  /** Errors by field. */
  problems?: Map<string, string[]>;
  /** True if images were not sent with the form. */
  lostImages?: boolean;
  /** The tasks in the right pane, by id. */
  runs?: string[];
}

/** One model of a comparison with its values. */
export interface Candidate {
  choice: Choice;
  fields: Field[];
  typed: Typed;
}

export interface View extends Required<Omit<Shown, "problem" | "runs">> {
  problem: string | undefined;
  /** The form's fields: with the tray for all images. */
  fields: Field[];
  /** The request for this form. */
  request: { path: string; body: Record<string, unknown> };
  /** The models of the comparison. */
  others: string[];
  /** Millionths that all runs reserve together; null if the typed values do not determine it. */
  amount: number | null;
  remaining: number | null;
  /** Set if the runs cost more than remains. */
  tooDear: OutOfBalanceProps | undefined;
  /** Sent with the form: the same key and values are one task. */
  key: string;
  videos: { id: string; title: string }[];
  /** The names of the account's destinations. */
  destinations: string[];
  runs: TaskData[];
  /** The newest tasks. */
  history: History;
}

const historyShown = 20;
const longestTitle = 60;
const maxPromptInLink = 2000;

/** The models of a form, the chosen one first, each with the values that are valid for it. */
export function listCandidates({ choices, choice, typed }: Pick<Shown, "choices" | "choice" | "typed">): Candidate[] {
  const wanted = new Set((typed.get("with") ?? []).slice(0, maxCompared - 1));
  const rivals = choices.filter(({ id, action }) => wanted.has(id) && action === choice.action && id !== choice.id);
  return [
    { choice, fields: formFields(choice.fields), typed },
    ...rivals.map((rival) => {
      const fields = formFields(rival.fields);
      return { choice: rival, fields, typed: carriedOver(fields, typed) };
    }),
  ];
}

/** The request of a model's form. */
export function requestIn({ choice, fields, typed }: Candidate, images: Images): ReturnType<typeof toRequest> {
  const destination = choice.action === "chat" ? "" : (typed.get("deliver_to")?.[0] ?? "");
  return toRequest(choice, { ...buildBody(fields, typed, images), ...(destination !== "" && { deliver_to: { destination } }) });
}

/** The tasks with these ids; unknown ones and other accounts' are left out. */
export async function readRuns(c: ConsoleContext, ids: string[]): Promise<TaskData[]> {
  const read = async (id: string) => {
    const answer = await askGateway(c, taskPath(id));
    return answer.ok ? readTask(answer) : undefined;
  };
  return (await Promise.all(ids.slice(0, maxCompared).map(read))).filter((task) => task !== undefined);
}

/** The newest tasks with their thumbnails, for the strip. */
export interface History {
  tasks: TaskData[];
  previews: Map<string, Preview>;
}

export async function readHistory(c: ConsoleContext): Promise<History> {
  const tasks = await listTasks(c, `limit=${historyShown}`);
  return { tasks, previews: await readPreviews(c, tasks, "strip") };
}

/** Videos of the account from which a character or a remix can be created. */
async function readVideos(c: ConsoleContext, { action }: Choice) {
  if (action !== "character" && action !== "remix") return [];
  const tasks = await listTasks(c, "kind=video&status=completed&limit=20");
  return tasks.map((task) => ({ id: task.id, title: `${(taskPrompt(task) ?? task.id).slice(0, longestTitle)} · ${task.model}` }));
}

export const left = async (c: ConsoleContext) => remaining(await readBalance(c, c.var.account.id));

/** What to do if the runs cost more than remains; undefined if they do not. It names the best model that one run of this prompt fits. */
async function findWayOut(
  c: ConsoleContext,
  { choices, choice, typed }: Shown,
  amount: number | null,
  balance: number | null,
): Promise<OutOfBalanceProps | undefined> {
  if (amount === null || balance === null || amount <= balance) return undefined;
  const prompt = typed.get("prompt")?.[0]?.slice(0, maxPromptInLink) ?? "";
  const [covered] = choices
    .filter(({ action }) => action === choice.action)
    .flatMap((one) => {
      const fields = formFields(one.fields);
      const price = computeHold({ ...one, fields }, buildBody(fields, carriedOver(fields, new Map([["prompt", [prompt]]])), new Map()));
      return price !== null && price <= balance ? [{ id: one.id, model: one.model, amount: price }] : [];
    })
    .sort((a, b) => b.amount - a.amount);
  return {
    left: balance,
    helper: await findHelper(c),
    covered: covered ? { ...covered, href: `/console/playground?${new URLSearchParams({ model: covered.id, prompt })}` } : "none",
  };
}

/** Loads the data that a page needs beside the form. */
export async function buildView(c: ConsoleContext, shown: Shown): Promise<View> {
  const { choice, typed, images = new Map(), problem, problems = new Map<string, string[]>(), lostImages = false, runs = [] } = shown;
  const isChat = choice.action === "chat";
  const [found, history, videos, destinations, balance] = await Promise.all([
    readRuns(c, runs),
    isChat ? { tasks: [], previews: new Map() } : readHistory(c),
    readVideos(c, choice),
    isChat ? [] : listDestinations(c.env.DB, c.var.account.id),
    left(c),
  ]);
  const candidates = listCandidates(shown);
  const amounts = candidates.map((one) => computeHold({ ...one.choice, fields: one.fields }, buildBody(one.fields, one.typed, images)));
  const amount = amounts.includes(null) ? null : amounts.reduce<number>((sum, one) => sum + (one ?? 0), 0);
  return {
    ...shown,
    images,
    problem,
    problems,
    lostImages,
    fields: formFields(choice.fields),
    request: requestIn({ choice, fields: formFields(choice.fields), typed }, images),
    others: candidates.slice(1).map((one) => one.choice.id),
    amount,
    remaining: balance,
    tooDear: await findWayOut(c, shown, amount, balance),
    key: typed.get("key")?.[0] ?? crypto.randomUUID(),
    videos,
    destinations: destinations.map(({ name }) => name),
    runs: found,
    history,
  };
}
