/** `POST /v1/payments`: opens a page of Stripe on which a person tops up the account. For keys of owners and admins. */

import { actor } from "../request/actor.ts";
import type { AppContext } from "../request/context.ts";
import { ApiError, invalid } from "../../base/errors.ts";
import { toSeconds } from "../../base/times.ts";
import { toUnits } from "../../db/ledger.ts";
import { answer } from "../request/answer.ts";
import { readFields } from "../request/body.ts";
import { newPayment } from "../schema/bodies.ts";

export async function createPayment(c: AppContext): Promise<Response> {
  const { CONSOLE, PAYMENTS } = c.env;
  if (!PAYMENTS) throw new ApiError("not_found");
  const returnUrl = new URL(CONSOLE ? "/console/billing" : "/", c.get("url")).href;
  let refusal: unknown;
  // Without payments a body that is refused gets the answer of every other one. An amount of 0 opens nothing.
  const { amount } = await readFields(c, newPayment).catch((error: unknown) => {
    refusal = error;
    return { amount: 0 };
  });
  const order = { accountId: c.get("caller").accountId, amount, returnUrl, by: actor(c) };
  const made = await PAYMENTS.checkout(order).catch((cause: unknown) => {
    throw new ApiError("unavailable", { cause });
  });
  if (refusal !== undefined && made.refused !== "off") throw refusal;
  if (made.refused === undefined) {
    const seconds = { created_at: toSeconds(made.createdAt), expires_at: toSeconds(made.expiresAt) };
    return answer(c, { object: "payment", id: made.id, amount: toUnits(made.amount), url: made.url, ...seconds }, 201);
  }
  if (made.refused === "step") throw invalid("amount", "payment_step", { step: made.step });
  if (made.refused === "range") throw invalid("amount", "not_between", { min: made.min, max: made.max });
  if (made.refused === "unlimited") throw invalid("amount", "payment_unlimited");
  if (made.refused === "too_many") throw new ApiError("rate_limit_exceeded", { retryAfter: 3600 });
  throw new ApiError("not_found");
}
