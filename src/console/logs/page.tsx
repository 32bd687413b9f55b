/** `/console/logs`: the account's requests of the last days, over time and in pages, filtered by what the address says. */

import type { ConsoleContext, ConsoleEnvironment } from "../context.ts";
import { sendCsv } from "../downloads.ts";
import { Hono } from "hono";
import { listKeys } from "../../db/api-keys.ts";
import { keptDays, type RequestEntry } from "../../db/request-pages.ts";
import { countRequests, type Facet, readRequests, type RequestCounts, type RequestFilter, results } from "../../db/requests.ts";
import { page, signedIn } from "../frame.tsx";
import { placeText, readPlace, withQuery } from "../list-address.ts";
import { Choice, dateText, Empty, Icon, lengthText, Link, NavLinks, Pager, SearchForm, useAround } from "../parts/index.ts";
import { live } from "../tasks/live.ts";
import { type Charge, readCosts } from "./costs.ts";
import { drawer } from "./drawer.tsx";
import { entryPage } from "./entry.tsx";
import { Histogram } from "./histogram.tsx";
import { Requests } from "./requests.tsx";
import { dayMs, hourMs, toDate } from "../../base/times.ts";

const path = "/console/logs";
const rowsOnPage = 50;

/** The times that a button chooses, with the bars that each has. */
const ranges = {
  "1h": { ms: hourMs, parts: 60 },
  "24h": { ms: dayMs, parts: 48 },
  "3d": { ms: keptDays * dayMs, parts: 72 },
} as const;
type Range = keyof typeof ranges;
const chosenParts = 60;

/** The filters by result. */
const chips = [...results, "rescued"] as const;

/** Seconds that the filter of slow answers offers. */
const slows = ["1", "5", "30"] as const;
type Slow = (typeof slows)[number];

/** What the address says. */
interface Asked {
  result?: RequestFilter["result"];
  path?: string | undefined;
  model?: string | undefined;
  key?: string | undefined;
  error?: string | undefined;
  text?: string | undefined;
  /** Only answers that took at least so many seconds. */
  slow?: Slow | undefined;
  /** The default is left out: all days that are kept. */
  range?: Exclude<Range, "3d"> | undefined;
  /** A time that was chosen in the bars, in milliseconds; then without a range. */
  from?: string | undefined;
  to?: string | undefined;
  /** "on": new requests appear while the page is open. */
  live?: "on" | undefined;
  /** The request that stands beside the list. */
  open?: string | undefined;
}

const pathWith = (asked: Asked & { after?: string | undefined }) => withQuery(path, { ...asked });

/** The time that the address asks for. */
function timeOf({ range, from, to }: Asked, now: number) {
  if (from !== undefined && to !== undefined) return { since: Number(from), until: Number(to), parts: chosenParts, isNow: false };
  const { ms, parts } = ranges[range ?? "3d"];
  // Bars begin at whole parts, so that they stay while the page is open.
  const until = Math.ceil(now / (ms / parts)) * (ms / parts);
  return { since: until - ms, until, parts, isNow: true };
}

function parseAsked(c: ConsoleContext): Asked {
  const word = (name: string) => c.req.query(name)?.trim().slice(0, 200) || undefined;
  const [from, to] = [word("from"), word("to")];
  const isTime = from !== undefined && to !== undefined && /^\d{13}$/.test(from) && /^\d{13}$/.test(to) && Number(from) < Number(to);
  const range = word("range");
  return {
    result: chips.find((result) => result === c.req.query("result")),
    path: word("path"),
    model: word("model"),
    key: word("key"),
    error: word("error"),
    text: word("text"),
    slow: slows.find((seconds) => seconds === c.req.query("slow")),
    open: /^[\w-]{1,64}$/.exec(c.req.query("open") ?? "")?.[0],
    ...(isTime ? { from, to } : { range: range === "1h" || range === "24h" ? range : undefined }),
    live: c.req.query("live") === "on" && c.req.query("after") === undefined ? "on" : undefined,
  };
}

const Ranges = ({ asked }: { asked: Asked }) => {
  const { t, language } = useAround();
  const { from, to: _to, range, open: _open, ...others } = asked;
  return (
    <NavLinks
      class="seg"
      label={t("logs_time")}
      of={(Object.keys(ranges) as Range[]).map((one) => ({
        path: pathWith({ ...others, range: one === "3d" ? undefined : one }),
        text: lengthText(language, ranges[one].ms),
        isHere: from === undefined && one === (range ?? "3d"),
      }))}
    />
  );
};

const Results = ({ asked, counts }: { asked: Asked; counts: RequestCounts["values"]["result"] }) => {
  const { t } = useAround();
  const known = new Map(counts);
  const link = (result: RequestFilter["result"]) => ({ path: pathWith({ ...asked, result }), isHere: asked.result === result });
  const total = results.reduce((sum, result) => sum + (known.get(result) ?? 0), 0);
  const each = chips.map((result) => ({ ...link(result), text: t(`logs_${result}`), count: known.get(result) ?? 0 }));
  return <NavLinks class="chips" label={t("status")} of={[{ ...link(undefined), text: t("any_kind"), count: total }, ...each]} />;
};

/** The values of a filter that a menu offers; the others are found by the search. */
const maxValues = 20;

/** The menus of the filters by a value, each value with its count. */
const Choices = ({ asked, values, keyNames }: { asked: Asked; values: RequestCounts["values"]; keyNames: ReadonlyMap<string, string> }) => {
  const { t, language } = useAround();
  const menu = (facet: Exclude<Facet, "result">, nameOf = (value: string) => value) => {
    const chosen = asked[facet];
    const offered = values[facet].slice(0, maxValues);
    // A value that was chosen stays in its menu, also without requests.
    const all = chosen === undefined || offered.some(([value]) => value === chosen) ? offered : [...offered, [chosen, 0] as const];
    return (
      <Choice
        name={facet}
        any={t(`logs_any_${facet}`)}
        options={all.map(([value, count]) => ({ value, text: `${nameOf(value)} · ${count.toLocaleString(language)}` }))}
        chosen={chosen}
        to={(value) => pathWith({ ...asked, [facet]: value })}
      />
    );
  };
  return (
    <>
      {menu("path")}
      {menu("model")}
      {menu("key", (key) => keyNames.get(key) ?? t("logs_key_gone"))}
      {menu("error")}
      <Choice
        name="slow"
        any={t("logs_any_slow")}
        options={slows.map((value) => ({ value, text: t("logs_slow", { seconds: value }) }))}
        chosen={asked.slow}
        to={(slow) => pathWith({ ...asked, slow: slows.find((one) => one === slow) })}
      />
    </>
  );
};

/** Starts and ends the refreshing of the newest requests. */
const Live = ({ asked }: { asked: Asked }) => {
  const { t } = useAround();
  const isOn = asked.live === "on";
  return (
    <Link
      class="chip"
      href={pathWith({ ...asked, live: isOn ? undefined : "on" })}
      aria-current={isOn ? "true" : undefined}
      icon={isOn ? "stop" : "bolt"}
      text={t(isOn ? "logs_live_stop" : "logs_live")}
    />
  );
};

const None = ({ isFiltered }: { isFiltered: boolean }) => {
  const { t } = useAround();
  return (
    <Empty
      icon={isFiltered ? "search" : "list"}
      title={t(isFiltered ? "logs_none_such" : "logs_none")}
      text={t(isFiltered ? "logs_none_such_hint" : "logs_none_hint", { days: keptDays })}
    >
      <Link class={isFiltered ? "btn" : "btn primary"} href={isFiltered ? path : "/docs"} text={t(isFiltered ? "logs_all" : "docs")} />
    </Empty>
  );
};

/** What the address asks for, of the requests that the user may see. */
function toFilter(c: ConsoleContext, asked: Asked, now: number): RequestFilter & { since: number; until: number } {
  const { result, path: place, model, key, error, text, slow } = asked;
  const { since, until } = timeOf(asked, now);
  const keys = c.var.caller.ownWallets;
  return { result, path: place, model, key, error, text, slow: slow && 1000 * Number(slow), since, until, keys };
}

const csvColumns: Record<string, (entry: RequestEntry) => string> = {
  time: ({ at }) => new Date(at).toISOString(),
  request: ({ request }) => request,
  method: (entry) => entry.path.split(" ")[0] ?? "",
  path: (entry) => entry.path.split(" ")[1] ?? "",
  status: ({ status }) => String(status),
  error: ({ outcome }) => (outcome === "ok" ? "" : outcome),
  message: ({ message }) => message ?? "",
  milliseconds: ({ ms }) => String(ms),
  model: ({ model }) => model ?? "",
  task: ({ task }) => task ?? "",
};

/** Downloads every request that matches the address. */
function download(c: ConsoleContext) {
  const now = Date.now();
  const filter = toFilter(c, parseAsked(c), now);
  const read = async (place: { limit: number; after?: RequestEntry | undefined }) =>
    (await readRequests(c.env.DB, c.var.account.id, filter, { ...place, now })).entries;
  return sendCsv(c, `requests-${toDate(now)}`, csvColumns, read);
}

/** The request beside the list: one of the page's, with its neighbours. */
async function openDrawer(
  c: ConsoleContext,
  asked: Asked,
  { entries, names, charges }: { entries: RequestEntry[]; names: ReadonlyMap<string, string>; charges: ReadonlyMap<string, Charge> },
) {
  const at = entries.findIndex(({ request }) => request === asked.open);
  const entry = entries[at];
  if (!entry) return null;
  const after = c.req.query("after");
  const to = (one: RequestEntry | undefined) => one && pathWith({ ...asked, ...(after !== undefined && { after }), open: one.request });
  return drawer(c, {
    entry,
    keyName: names.get(entry.key ?? "") ?? c.var.t("logs_key_gone"),
    charge: charges.get(entry.task ?? ""),
    list: pathWith({ ...asked, ...(after !== undefined && { after }), open: undefined }),
    newer: to(entries[at - 1]),
    older: to(entries[at + 1]),
  });
}

/** `GET /console/logs?result=&path=&model=&key=&error=&range=&from=&to=&text=&after=&live=` */
async function logsPage(c: ConsoleContext) {
  const { t, account, language } = c.var;
  const now = Date.now();
  const after = readPlace(c);
  const asked = parseAsked(c);
  const { since, until, parts, isNow } = timeOf(asked, now);
  const { live: isLive, from, to, open } = asked;
  const filter = toFilter(c, asked, now);
  const [{ entries, hasMore }, counts, keys] = await Promise.all([
    readRequests(c.env.DB, account.id, filter, { limit: rowsOnPage, after: after && { at: after.at, request: after.id }, now }),
    countRequests(c.env.DB, account.id, filter, { parts, now }),
    listKeys(c.env.DB, account.id),
  ]);
  const charges = await readCosts(c, entries);
  const names = new Map(keys.map(({ walletId, name }) => [walletId, name]));
  const isFiltered =
    after !== undefined || Object.values({ ...asked, live: undefined, open: undefined }).some((value) => value !== undefined);
  const { live: _live, open: _open, ...kept } = asked;
  const { from: _from, to: _to, ...anyTime } = kept;
  const place = c.req.query("after");
  const opened = (entry: RequestEntry) => pathWith({ ...asked, ...(after && { after: place }), open: entry.request });
  const last = hasMore ? entries.at(-1) : undefined;
  const isEmpty = entries.length === 0 && !isFiltered;
  return page(
    c,
    t("logs"),
    <div id="logs">
      <section {...(isLive ? live(pathWith(asked), "requests", "every 5s") : { id: "requests" })}>
        {!isEmpty && (
          <>
            <Histogram
              parts={counts.parts}
              since={since}
              until={until}
              isNow={isNow}
              to={(first, end) => pathWith({ ...kept, range: undefined, from: String(first), to: String(end) })}
            />
            <div class="sub pt">
              <Results asked={asked} counts={counts.values.result} />
              {from !== undefined && to !== undefined && (
                <a class="chip" href={pathWith(anyTime)} aria-current="true" aria-label={t("logs_any_time")}>
                  {dateText(language, Number(from))} {new Date(Number(from)).toISOString().slice(11, 19)}–
                  {new Date(Number(to)).toISOString().slice(11, 19)} UTC
                  <Icon name="x" />
                </a>
              )}
              <span class="row">
                <Choices asked={asked} values={counts.values} keyNames={names} />
                {!after && <Live asked={asked} />}
              </span>
            </div>
          </>
        )}
        {entries.length === 0 ? (
          <None isFiltered={isFiltered} />
        ) : (
          <Requests entries={entries} keyNames={names} charges={charges} open={open} to={opened} />
        )}
        {entries.length > 0 && (
          <Pager
            note={t("logs_kept", { days: keptDays })}
            first={after && pathWith(kept)}
            next={last && pathWith({ ...kept, after: placeText({ at: last.at, id: last.request }) })}
          >
            <Link class="btn ghost sm" href={pathWith(kept).replace(path, `${path}/requests.csv`)} download icon="down" text="CSV" />
          </Pager>
        )}
      </section>
      {open !== undefined && (await openDrawer(c, asked, { entries, names, charges }))}
    </div>,
    200,
    {
      actions: (
        <>
          <SearchForm path={path} filters={{ ...asked }} name="text" label={t("logs_search")} maxlength={100} />
          <Ranges asked={asked} />
        </>
      ),
      lead: t("logs_lead"),
    },
  );
}

export const logs = new Hono<ConsoleEnvironment>()
  .use(signedIn)
  .get("/", logsPage)
  .get("/requests.csv", download)
  .get("/:request", entryPage);
