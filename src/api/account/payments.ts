/** `POST /v1/payments`: opens a page of Stripe on which a person tops up the account. For keys of owners and admins. */

import { actor } from "../request/actor.ts";
import type { AppContext } from "../request/context.ts";
import { ApiError, invalid } from "../../base/errors.ts";
import { toUnits } from "../../db/ledger.ts";
import { answer } from "../request/answer.ts";
import { readFields } from "../request/body.ts";
import { newPayment } from "../schema/bodies.ts";

export async function createPayment(c: AppContext): Promise<Response> {
  const { CONSOLE, PAYMENTS } = c.env;
  if (!PAYMENTS) throw new ApiError("not_found");
  const returnUrl = new URL(CONSOLE ? "/console/billing" : "/", c.get("url")).href;
  const order = { accountId: c.get("caller").accountId, returnUrl, by: actor(c) };
  const open = (amount: number) =>
    PAYMENTS.checkout({ ...order, amount }).catch((cause: unknown) => {
      throw new ApiError("unavailable", { cause });
    });
  // Before the body is read: without payments every body gets the same answer. An amount of 0 opens nothing.
  if ((await open(0)).refused === "off") throw new ApiError("not_found");
  const made = await open((await readFields(c, newPayment)).amount);
  if (made.refused === undefined) {
    const seconds = { created_at: Math.floor(made.createdAt / 1000), expires_at: Math.floor(made.expiresAt / 1000) };
    return answer(c, { object: "payment", id: made.id, amount: toUnits(made.amount), url: made.url, ...seconds }, 201);
  }
  if (made.refused === "step") throw invalid("amount", "payment_step", { step: made.step });
  if (made.refused === "range") throw invalid("amount", "payment_range", { min: made.min, max: made.max });
  if (made.refused === "unlimited") throw invalid("amount", "payment_unlimited");
  if (made.refused === "too_many") throw new ApiError("rate_limit_exceeded", { retryAfter: 3600 });
  throw new ApiError("not_found");
}
