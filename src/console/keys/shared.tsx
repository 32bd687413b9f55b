/** The only page that shows the secret of a key. */

import type { ConsoleContext } from "../context.ts";
import type { ApiKey } from "../../db/api-keys.ts";
import { page } from "../frame.tsx";
import { Copy } from "../parts/copy.tsx";
import { Icon } from "../parts/icon.tsx";
import { SectionHead } from "../parts/section-head.tsx";
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
        <SectionHead step={1} title={t("key_keep")} />
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
        <SectionHead step={call ? 3 : 2} title={t("key_limit")} />
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
