/** Shared by the pages of API keys: the user's keys, and the only page that shows a secret. */

import type { ConsoleContext } from "../context.ts";
import { type ApiKey, listKeys } from "../../db/api-keys.ts";
import { page } from "../frame.tsx";
import { consoleKeys } from "../members.ts";
import { Copy } from "../parts/copy.tsx";
import { Icon } from "../parts/icon.tsx";

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

/** The secret of a new key. No other page shows it. */
export function shownOnce(c: ConsoleContext, title: string, key: string) {
  const { t } = c.var;
  return page(
    c,
    title,
    <>
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
      <p class="gap0">
        <a href="/console/keys" class="btn primary" role="button">
          {t("done")}
        </a>
      </p>
    </>,
    200,
    { width: "slim" },
  );
}
