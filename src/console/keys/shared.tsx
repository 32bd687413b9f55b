/** Shared by the pages of API keys: the user's keys, and the only page that shows a secret. */

import { type ApiKey, listKeys } from "../../db/api-keys.ts";
import { type ConsoleContext, page } from "../frame.tsx";
import { Copy } from "../parts/copy.tsx";
import { Icon } from "../parts/icon.tsx";

/** A key that a user created, and whether it was replaced by a newer one. */
export type Key = ApiKey & { isReplaced: boolean };

/** The account's keys without the console's own key, whose secret no user has. */
export async function readAccountKeys(c: ConsoleContext): Promise<Key[]> {
  const keys = (await listKeys(c.env.DB, c.get("account").id)).filter(({ id }) => id !== c.get("caller").keyId);
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
