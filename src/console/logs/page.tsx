/** `/console/logs`: the account's requests of the last days, filtered, in pages. */

import type { ConsoleContext, ConsoleEnvironment } from "../context.ts";
import { Hono } from "hono";
import { listKeys } from "../../db/api-keys.ts";
import { keptDays, readRequests, type RequestFilter } from "../../db/requests.ts";
import { page, signedIn } from "../frame.tsx";
import { Choice } from "../parts/choice.tsx";
import { useAround } from "../parts/context.ts";
import { Icon } from "../parts/icon.tsx";
import { live } from "../tasks/live.ts";
import { buildQuery } from "../tasks/search.ts";
import { Requests } from "./requests.tsx";

const path = "/console/logs";
const rowsOnPage = 50;
const results = ["succeeded", "refused", "failed"] as const;

interface Asked extends Omit<RequestFilter, "keys"> {
  /** "on": new requests appear while the page is open. */
  live?: "on" | undefined;
}

const pathWith = (asked: Asked & { after?: string }) => {
  const query = buildQuery({ ...asked });
  return query === "" ? path : `${path}?${query}`;
};

/** The request after which a page begins, as `{milliseconds}_{request}`. */
function parsePlace(text = ""): { at: number; request: string } | undefined {
  const [, at, request] = /^(\d{1,15})_([\w-]{1,64})$/.exec(text) ?? [];
  return at && request ? { at: Number(at), request } : undefined;
}

const Results = ({ asked }: { asked: Asked }) => {
  const { t } = useAround();
  const chip = (result: RequestFilter["result"], text: string) => (
    <a class="chip" href={pathWith({ ...asked, result })} aria-current={asked.result === result ? "true" : undefined}>
      {text}
    </a>
  );
  return (
    <nav class="chips" aria-label={t("status")}>
      {chip(undefined, t("any_kind"))}
      {results.map((result) => chip(result, t(`logs_${result}`)))}
    </nav>
  );
};

const Search = ({ asked: { text, ...others } }: { asked: Asked }) => {
  const { t } = useAround();
  return (
    <form class="icon-in search" role="search" action={path}>
      <Icon name="search" />
      <input
        class="in"
        type="search"
        name="text"
        value={text}
        maxlength={100}
        placeholder={t("logs_search")}
        aria-label={t("logs_search")}
        data-slash
      />
      {text === undefined && <kbd>/</kbd>}
      {Object.entries(others).map(([name, value]) => value !== undefined && <input type="hidden" name={name} value={value} />)}
    </form>
  );
};

/** Starts and ends the refreshing of the newest requests. */
const Live = ({ asked }: { asked: Asked }) => {
  const { t } = useAround();
  const isOn = asked.live === "on";
  return (
    <a class="chip" href={pathWith({ ...asked, live: isOn ? undefined : "on" })} aria-current={isOn ? "true" : undefined}>
      <Icon name={isOn ? "stop" : "bolt"} />
      {t(isOn ? "logs_live_stop" : "logs_live")}
    </a>
  );
};

const Empty = ({ isFiltered }: { isFiltered: boolean }) => {
  const { t } = useAround();
  return (
    <div class="empty">
      <Icon name={isFiltered ? "search" : "list"} />
      <h2>{t(isFiltered ? "logs_none_such" : "logs_none")}</h2>
      <p>{t(isFiltered ? "logs_none_such_hint" : "logs_none_hint", { days: keptDays })}</p>
      <div class="row">
        <a class={isFiltered ? "btn" : "btn primary"} href={isFiltered ? path : "/docs"}>
          {t(isFiltered ? "logs_all" : "docs")}
        </a>
      </div>
    </div>
  );
};

/** `GET /console/logs?result=&key=&text=&after=&live=` */
async function logsPage(c: ConsoleContext) {
  const { t, account } = c.var;
  const text = c.req.query("text")?.trim();
  const after = parsePlace(c.req.query("after"));
  const asked: Asked = {
    result: results.find((result) => result === c.req.query("result")),
    key: c.req.query("key") || undefined,
    text: text || undefined,
    live: c.req.query("live") === "on" && !after ? "on" : undefined,
  };
  const [{ entries, hasMore }, keys] = await Promise.all([
    readRequests(c.env.DB, account.id, { ...asked, keys: c.get("caller").ownWallets }, { limit: rowsOnPage, after, now: Date.now() }),
    listKeys(c.env.DB, account.id),
  ]);
  const names = new Map(keys.map(({ walletId, name }) => [walletId, name]));
  const { live: isLive, ...filters } = asked;
  const last = hasMore ? entries.at(-1) : undefined;
  return page(
    c,
    t("logs"),
    <>
      <div class="sub">
        <Results asked={asked} />
        <span class="push row">
          <Choice
            name="key"
            any={t("logs_any_key")}
            options={[...names].map(([value, name]) => ({ value, text: name }))}
            chosen={asked.key}
            to={(key) => pathWith({ ...asked, key })}
          />
          {!after && <Live asked={asked} />}
        </span>
      </div>
      <section {...(isLive ? live(pathWith(asked), "requests", "every 5s") : { id: "requests" })}>
        {entries.length === 0 ? (
          <Empty isFiltered={after !== undefined || Object.values(filters).some((value) => value !== undefined)} />
        ) : (
          <Requests entries={entries} keyNames={names} />
        )}
        {entries.length > 0 && (
          <div class="pager">
            <span class="meta">{t("logs_kept", { days: keptDays })}</span>
            <span class="row">
              {after && (
                <a class="btn sm" href={pathWith(filters)}>
                  {t("newest")}
                </a>
              )}
              {last && (
                <a class="btn sm" href={pathWith({ ...filters, after: `${last.at}_${last.request}` })} rel="next">
                  {t("older")}
                </a>
              )}
            </span>
          </div>
        )}
      </section>
    </>,
    200,
    { actions: <Search asked={asked} />, lead: t("logs_lead") },
  );
}

export const logs = new Hono<ConsoleEnvironment>().use(signedIn).get("/", logsPage);
