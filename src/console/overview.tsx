/** The first page: what is left, held and spent. */

import { Hono } from "hono";
import { balanceOf, remaining, toUnits } from "../quota.ts";
import { type ConsoleEnvironment, page, signedIn } from "./frame.tsx";

export const overview = new Hono<ConsoleEnvironment>().get("/", signedIn, async (c) => {
  const say = c.get("say");
  const balance = (await balanceOf(c.env.DB, c.get("account").id))!;
  const left = remaining(balance);
  const amount = (millionths: number) =>
    `${toUnits(millionths).toLocaleString(c.get("language"), { maximumFractionDigits: 6 })} ${c.env.BALANCE_UNIT}`;
  return page(
    c,
    say("overview"),
    <dl class="figures">
      <div>
        <dt>{say("remaining")}</dt>
        <dd>{left === null ? say("unlimited") : amount(left)}</dd>
      </div>
      <div>
        <dt>{say("reserved")}</dt>
        <dd>{amount(balance.reserved)}</dd>
      </div>
      <div>
        <dt>{say("used")}</dt>
        <dd>{amount(balance.used)}</dd>
      </div>
    </dl>,
  );
});
