/** What a signed-in user can search beside the documentation: pages, actions, models, keys, batches, tasks of the account, and the user's conversations. */

import type { ConsoleContext } from "../context.ts";
import { isAtLeast, mayOpen } from "../access.ts";
import { readBatches, taskPrompt } from "../answers.ts";
import { batchName } from "../batches/state.tsx";
import { askGateway } from "../gateway.ts";
import { listConversations } from "../../db/conversations.ts";
import { readAccountKeys } from "../keys/account-keys.ts";
import { relativeTime } from "../parts/date-time.tsx";
import { kindIcons } from "../parts/kind-icons.ts";
import { readChoices } from "../playground/choices.ts";
import { allPlaces } from "../shell/places.ts";
import { findTasks } from "../tasks/search.ts";
import { type Hit, splitWords } from "./hits.tsx";

const maxOfKind = 5;
/** A shorter text is in too many prompts to be worth reading them. */
const minForTasks = 3;

/** What can be done from anywhere, the page that does it, and the method of its form. */
const actions = [
  { path: "/console/playground", name: "search_do_run", icon: "wand", method: "GET" },
  { path: "/console/keys", name: "create_key", icon: "key", method: "POST" },
  { path: "/console/batches/new", name: "search_do_batch", icon: "layers", method: "POST" },
  { path: "/console/members/invitations", name: "search_do_invite", icon: "team", method: "POST" },
  { path: "/console/billing", name: "search_do_top_up", icon: "card", method: "GET" },
  { path: "/console/destinations", name: "search_do_destination", icon: "out", method: "POST" },
  { path: "/console/usage/charges.csv?days=90", name: "search_do_csv", icon: "down", method: "GET" },
] as const;

const hasAll = (query: string, ...texts: (string | undefined)[]) => {
  const text = texts.join(" ").toLowerCase();
  return splitWords(query).every((word) => text.includes(word));
};

/** Pages of the console that the role may open. */
export function searchPages(c: ConsoleContext, query: string): Hit[] {
  const { t } = c.var;
  const { role } = c.var.membership;
  const isAdmin = c.var.account.admin === 1 && isAtLeast(role, "admin");
  return allPlaces
    .filter(({ path, name }) => (path === "/console/admin" ? isAdmin : name === "docs" || mayOpen(role, "GET", path)))
    .filter(({ name, path }) => hasAll(query, t(name), path.replace("/console", "")))
    .map(({ path, name, icon }) => ({ path, title: t(name), icon, kind: "page" }));
}

export function searchActions(c: ConsoleContext, query: string): Hit[] {
  const { t } = c.var;
  const { role } = c.var.membership;
  return actions
    .filter(({ path, method }) => mayOpen(role, method, path.replace(/\?.*/, "")))
    .filter(({ name }) => hasAll(query, t(name)))
    .map(({ path, name, icon }) => ({ path, title: t(name), icon, kind: "action" }));
}

async function searchModels(c: ConsoleContext, query: string): Promise<Hit[]> {
  const { t } = c.var;
  return (await readChoices(c))
    .filter(({ id, model, aliases, action }) => id === model && hasAll(query, model, ...aliases, t(`model_group_${action}`)))
    .slice(0, maxOfKind)
    .map(({ model, action }) => ({
      path: `/console/models/${model}`,
      title: model,
      lead: t(`model_group_${action}`),
      icon: "cube",
      kind: "model",
    }));
}

async function searchKeys(c: ConsoleContext, query: string): Promise<Hit[]> {
  if (!mayOpen(c.var.membership.role, "GET", "/console/keys")) return [];
  const isWriter = mayOpen(c.var.membership.role, "GET", "/console/keys/any/change");
  return (await readAccountKeys(c))
    .filter(({ name, prefix }) => hasAll(query, name, prefix))
    .slice(0, maxOfKind)
    .map(({ id, name, prefix, isManaged }) => ({
      path: isWriter && isManaged ? `/console/keys/${id}/change` : "/console/keys",
      title: name,
      lead: `${prefix}…`,
      icon: "key",
      kind: "key",
    }));
}

async function searchBatches(c: ConsoleContext, query: string, { batches }: Depth): Promise<Hit[]> {
  const { t, language } = c.var;
  const answer = await askGateway(c, `/v1/batches?limit=${batches}`);
  if (!answer.ok) return [];
  return (await readBatches(answer)).data
    .filter((batch) => hasAll(query, batchName(batch), batch.id))
    .slice(0, maxOfKind)
    .map((batch) => ({
      path: `/console/batches/${batch.id}`,
      title: batchName(batch),
      lead: t("search_batch", {
        done: batch.counts.completed.toLocaleString(language),
        total: batch.counts.total.toLocaleString(language),
      }),
      icon: "layers",
      kind: "batch",
    }));
}

async function searchConversations(c: ConsoleContext, query: string): Promise<Hit[]> {
  if (!mayOpen(c.var.membership.role, "GET", "/console/chat")) return [];
  const { language } = c.var;
  return (await listConversations(c.env.DB, { accountId: c.var.account.id, userId: c.var.user.id }))
    .filter(({ id, title }) => hasAll(query, title, id))
    .slice(0, maxOfKind)
    .map(({ id, title, at }) => ({
      path: `/console/chat/${id}`,
      title,
      lead: relativeTime(language, at, Date.now()),
      icon: "chat",
      kind: "conversation",
    }));
}

async function searchTasks(c: ConsoleContext, query: string, { lists }: Depth): Promise<Hit[]> {
  if (query.length < minForTasks) return [];
  const { tasks } = await findTasks(c, { q: query }, undefined, lists);
  return tasks.slice(0, maxOfKind).map((task) => ({
    path: `/console/tasks/${task.id}`,
    title: taskPrompt(task) ?? task.reference ?? task.id,
    lead: task.model,
    icon: kindIcons[task.metadata.kind],
    kind: "task",
  }));
}

/** The page of an id that was pasted whole. */
function searchId(query: string): Hit[] {
  const [, kind] = /^(task|batch|req)_[\w-]{8,}$/.exec(query) ?? [];
  if (kind === "task") return [{ path: `/console/tasks/${query}`, title: query, icon: "image", kind: "task" }];
  if (kind === "batch") return [{ path: `/console/batches/${query}`, title: query, icon: "layers", kind: "batch" }];
  return kind === "req" ? [{ path: `/console/logs/${query}`, title: query, icon: "list", kind: "request" }] : [];
}

/** How many of the newest batches and lists of a hundred tasks are searched; each batch and task is read from its own object. */
interface Depth {
  batches: number;
  lists: number;
}

/** The account's own things. A part that cannot be read now is left out, because the others are useful without it. */
export async function searchOwn(c: ConsoleContext, query: string, depth: Depth): Promise<Hit[]> {
  const byId = searchId(query);
  if (byId.length > 0) return byId;
  const found = await Promise.allSettled([
    searchModels(c, query),
    searchKeys(c, query),
    searchBatches(c, query, depth),
    searchConversations(c, query),
    searchTasks(c, query, depth),
  ]);
  return found.flatMap((part) => (part.status === "fulfilled" ? part.value : []));
}
