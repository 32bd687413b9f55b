/** The only page that shows the secret of a key. */

import type { ConsoleContext } from "../context.ts";
import type { ApiKey } from "../../db/api-keys.ts";
import { page } from "../frame.tsx";
import { Copy } from "../parts/copy.tsx";
import { Icon } from "../parts/icon.tsx";
import { FirstCall, readFirstCall } from "./first-call.tsx";

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
