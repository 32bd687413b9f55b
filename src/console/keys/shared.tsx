/** Shared by the pages of API keys: the user's keys, and the only page that shows a secret. */

import type { ConsoleContext } from "../context.ts";
import { type ApiKey, listKeys } from "../../db/api-keys.ts";
import { page } from "../frame.tsx";
import { consoleKeys } from "../members.ts";
import { Copy } from "../parts/copy.tsx";
import { Icon } from "../parts/icon.tsx";
import { FirstCall, readFirstCall } from "./first-call.tsx";

/** A key that a user created, and whether it was replaced by a newer one. */
export type Key = ApiKey & { isReplaced: boolean };

/** The account's keys without the console's own ones, whose secrets no user has. A member sees only the member's own. */
export async function readAccountKeys(c: ConsoleContext): Promise<Key[]> {
  const { id: accountId } = c.get("account");
  const [all, own] = await Promise.all([listKeys(c.env.DB, accountId), consoleKeys(c.env.DB, accountId)]);
  const isMember = c.get("membership").role === "member";
  const keys = all.filter(({ id, ownerId }) => !own.has(id) && (!isMember || ownerId === c.get("user").id));
  return keys.map((key, at) => ({ ...key, isReplaced: keys.slice(at + 1).some(({ walletId }) => walletId === key.walletId) }));
}

/** The secret of a new key, with a first call. No other page shows it. */
export async function shownOnce(c: ConsoleContext, { id, name }: Pick<ApiKey, "id" | "name">, key: string) {
  const { t } = c.var;
  const call = await readFirstCall(c);
  return page(
    c,
    t("key_ready", { name }),
    <>
      <section>
        <div class="sub">
          <h2>
            <span class="nth">1</span> {t("key_keep")}
          </h2>
        </div>
        <div class="note good">
          <Icon name="ok" />
          <div class="stack tight">
            <p role="status">{t("key_created")}</p>
            <div class="secret">
              <code id="key">{key}</code>
              <Copy of="key" />
            </div>
          </div>
        </div>
      </section>
      {call && <FirstCall c={c} id={id} secret={key} {...call} />}
      <section>
        <div class="sub">
          <h2>
            <span class="nth">{call ? 3 : 2}</span> {t("key_limit")}
          </h2>
        </div>
        <p class="row">
          <a class="btn" href={`/console/keys/${id}/change`}>
            {t("key_set_limit")}
          </a>
          <a href="/console/keys" class="btn" role="button">
            {t("done")}
          </a>
        </p>
      </section>
    </>,
    200,
    { width: "slim" },
  );
}
