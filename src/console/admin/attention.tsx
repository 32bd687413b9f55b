/** What needs the operator: active alerts, failing routes, stuck tasks, routes that end. Each line has the one button that mends it, or leads to where it is mended. */

import type { Child } from "hono/jsx";
import { alertNames } from "../../base/alert-names.ts";
import type { Alert } from "../../db/alerts.ts";
import type { Heartbeat } from "../../db/jobs.ts";
import type { OpenTask } from "../../db/ledger-reports.ts";
import type { RouteHealth } from "../../db/operator-series.ts";
import { routeName } from "../../db/settled-sums.ts";
import type { Model } from "../../catalog/models.ts";
import type { Upstreams } from "../../rpc/console-api.ts";
import { percentText } from "../amounts.ts";
import type { Translate } from "../messages.ts";
import { Button, ClockTime, cutId, dateText, DateTime, Filled, Icon, Link, SectionHead, useAround } from "../parts/index.ts";
import { readHealth, soonMs } from "./route-state.ts";
import { isLate } from "./task-state.ts";

const root = "/console/admin";
/** Lines of one sort; the pages they lead to have all. */
const most = 5;
/** A route with fewer failures in the last hour is not listed: one fault is no state. */
const minFailures = 3;

/** What a button does: leads to a page, or `reconcile` at once. */
type Verb = "open" | "price" | "replace" | "routes" | "reconcile";

/** Where an alert's cause is mended. */
interface Mending {
  path: string;
  verb?: Verb;
}

/** Our model that uses the route of this name. */
const modelOf = (models: readonly Model[], cause: string) =>
  models.find(({ routes }) => routes.some((route) => routeName(route) === cause))?.id;

/** The routes of the model that uses this one, which is taken out there; all providers if no model uses it. */
function toRoute(models: readonly Model[], cause: string): Mending & { verb: Verb } {
  const id = modelOf(models, cause);
  return id === undefined ? { path: `${root}/providers`, verb: "open" } : { path: `${root}/models/${id}`, verb: "routes" };
}

/** The page where an alert's first cause is seen and mended. */
const mendings: Record<string, Mending | ((cause: string | undefined, models: readonly Model[]) => Mending)> = {
  tasks_past_deadline: { path: `${root}/tasks?days=7` },
  holds_without_record: { path: `${root}#reconcile`, verb: "reconcile" },
  dead_letters: { path: `${root}/tasks` },
  ledger_drift: { path: `${root}/audit` },
  provider_unhealthy: { path: `${root}/providers` },
  provider_failing: (cause = "", models) => toRoute(models, cause),
  model_unavailable: (cause = "", models) => toRoute(models, cause),
  model_gone: { path: `${root}/models`, verb: "replace" },
  model_refused: (cause = "") => ({ path: `${root}/models/${encodeURIComponent(cause.split(" ")[0] ?? "")}` }),
  route_retiring: { path: `${root}/models?show=ending`, verb: "replace" },
  completion_low: { path: `${root}/providers` },
  queue_behind: { path: `${root}/tasks` },
  route_loses_money: (cause = "", models) => {
    const id = modelOf(models, cause);
    return id === undefined ? { path: `${root}/margins?by=route&days=7` } : { path: `${root}/models/${id}`, verb: "price" };
  },
  callbacks_failing: (account) => ({ path: account === undefined ? `${root}/accounts` : `${root}/accounts/${account}` }),
  accounts_restored: { path: `${root}#reconcile`, verb: "reconcile" },
};

/** The word on the button of a matter. */
export const verbText = (t: Translate, { verb = "open" }: Pick<Matter, "verb">) =>
  verb === "reconcile" ? t("admin_reconcile") : t(`admin_needs_${verb}`);

/** A line of the list. */
export interface Matter {
  tone: "bad" | "warn";
  icon: string;
  title: Child;
  about: Child;
  path: string;
  verb?: Verb | undefined;
  /** The name of its button for screen readers, which says on what it acts. */
  name: string;
}

interface Found {
  alerts: Alert[];
  heartbeat: Heartbeat;
  /** The health of routes in the last hour. */
  routes: RouteHealth[];
  /** Open tasks, oldest first. */
  open: OpenTask[];
  models: readonly Model[];
  upstreams: Upstreams;
  now: number;
}

/** Routes that fail now. */
export const failingRoutes = (routes: RouteHealth[]) => routes.filter(({ state, failures }) => state !== "ok" && failures >= minFailures);

/** All matters, the worst first. */
export function useMatters({ alerts, heartbeat, routes, open, models, upstreams, now }: Found): Matter[] {
  const { t, language } = useAround();
  const active = alerts.filter(({ endedAt }) => endedAt === null);
  const causesOf = (name: string) => active.find((alert) => alert.name === name)?.causes ?? [];
  const told = new Set([...causesOf("provider_failing"), ...causesOf("tasks_past_deadline")]);
  const ending = models.flatMap((model) => {
    const { end } = readHealth(upstreams, model.routes);
    return model.state === "live" && end && end.at < now + soonMs ? [{ id: model.id, ...end }] : [];
  });
  return [
    ...(heartbeat.isStale && heartbeat.at !== null
      ? [
          {
            tone: "bad" as const,
            icon: "bad",
            title: t("admin_needs_checks"),
            about: <Filled message="admin_needs_checks_at" by={{ time: <ClockTime ms={heartbeat.at} /> }} />,
            path: `${root}#alerts`,
            name: t("admin_needs_checks"),
          },
        ]
      : []),
    ...active.map(({ name, causes, beganAt }): Matter => {
      const known = alertNames.find((one) => one === name);
      const title = known ? t(`admin_needs_${known}`) : name;
      const mending = mendings[name] ?? { path: `${root}#alerts` };
      const shown = causes.slice(0, 3).map((cause) => (cause.length > 44 ? `${cause.slice(0, 43)}…` : cause));
      return {
        tone: name === "route_retiring" ? "warn" : "bad",
        icon: name === "route_retiring" ? "clock" : "bad",
        title,
        about: (
          <>
            {shown.length > 0 && `${shown.join(", ")}${causes.length > shown.length ? ", …" : ""} · `}
            <DateTime ms={beganAt} />
          </>
        ),
        ...(typeof mending === "function" ? mending(causes[0], models) : mending),
        name: title,
      };
    }),
    ...failingRoutes(routes)
      .filter(({ provider, model }) => !told.has(`${provider} ${model}`))
      .slice(0, most)
      .map(({ provider, model, calls, failures, state }): Matter => {
        const title = t(state === "down" ? "admin_needs_route_down" : "admin_needs_route_fails", { route: `${provider} ${model}` });
        return {
          tone: state === "down" ? "bad" : "warn",
          icon: state === "down" ? "bad" : "warn",
          title,
          about: t("admin_needs_route_share", { share: percentText(language, failures / calls), calls: calls.toLocaleString(language) }),
          ...toRoute(models, `${provider} ${model}`),
          name: title,
        };
      }),
    ...open
      .filter((row) => isLate(row, now) && !told.has(row.taskId))
      .slice(0, most)
      .map((row): Matter => {
        const title = t("admin_needs_task", { task: cutId(row.taskId) });
        return {
          tone: "warn",
          icon: "clock",
          title,
          about: (
            <>
              {row.model} · <DateTime ms={row.at} />
            </>
          ),
          path: `${root}/accounts/${row.accountId}/tasks/${row.taskId}`,
          name: title,
        };
      }),
    ...ending
      .sort((a, b) => a.at - b.at)
      .slice(0, most)
      .map(({ id, at, isLast }): Matter => {
        const title = t("admin_needs_ends", { model: id, day: dateText(language, at) });
        return {
          tone: isLast ? "bad" : "warn",
          icon: "clock",
          title,
          about: t(isLast ? "admin_needs_ends_last" : "admin_needs_ends_one"),
          path: `${root}/models/${id}`,
          verb: "replace",
          name: title,
        };
      }),
  ];
}

/** The list. `isSwapped`: it replaces the one of the page, which asked for another part. */
export const Attention = ({ found, isSwapped }: { found: Found; isSwapped?: boolean }) => {
  const { t } = useAround();
  const matters = useMatters(found);
  return (
    <section id="matters" {...(isSwapped && { "hx-swap-oob": "true" })}>
      <SectionHead title={t("admin_needs")}>{matters.length > 0 && <span class="tag num">{matters.length}</span>}</SectionHead>
      {matters.length === 0 ? (
        <p class="muted">{t("admin_needs_none")}</p>
      ) : (
        <ul class="card flush todo">
          {matters.map(({ tone, icon, title, about, path, verb, name }) => (
            <li class={tone === "bad" ? "bad" : undefined}>
              <Icon name={icon} />
              <div>
                <b>{title}</b>
                <p>{about}</p>
              </div>
              {verb === "reconcile" ? (
                <form method="post" action={`${root}/reconcile`}>
                  <Button class="btn sm" aria-label={`${verbText(t, { verb })}: ${name}`} text={verbText(t, { verb })} />
                </form>
              ) : (
                <Link class="btn sm" href={path} aria-label={`${verbText(t, { verb })}: ${name}`} text={verbText(t, { verb })} />
              )}
            </li>
          ))}
        </ul>
      )}
    </section>
  );
};
