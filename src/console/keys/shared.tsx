/** The only page that shows the secret of a key. */

import type { ConsoleContext } from "../context.ts";
import type { ApiKey } from "../../db/api-keys.ts";
import { page } from "../frame.tsx";
import { Link, SectionHead, ShownOnce } from "../parts/index.ts";
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
        <ShownOnce id="key" secret={key}>
          {t("key_created")}
        </ShownOnce>
      </section>
      {call && <FirstCall c={c} id={id} secret={key} {...call} />}
      <section>
        <SectionHead step={call ? 3 : 2} title={t("key_limit")} />
        <p class="row">
          <Link class="btn" href={`/console/keys/${id}/change`} text={t("key_set_limit")} />
          <Link href="/console/keys" class="btn" text={t("done")} />
        </p>
      </section>
    </>,
    200,
    { width: "slim" },
  );
}
