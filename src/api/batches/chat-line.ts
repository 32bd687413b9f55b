/** A line of a batch that is a chat: checked, and held in the wallet under an id that the batch has chosen. */

import { chargeVersion } from "../../base/versions.ts";
import { invalid } from "../../base/errors.ts";
import { maxBatchTasks } from "../../config.ts";
import { liveCatalog } from "../../current-catalog.ts";
import type { Caller } from "../../db/callers.ts";
import type { Charge } from "../../db/ledger.ts";
import type { ReserveAnswer } from "../../wallet/limits.ts";
import { chatHoldEnds } from "../chat/hold.ts";
import { type ChatFiles, findChatFiles } from "../chat/files.ts";
import { type ChatOrder, checkChat } from "../chat/order.ts";
import { largeBody } from "../request/body.ts";
import type { BatchTerms } from "./state.ts";

/** A chat with the stored images that it names. */
export type CheckedChat = ChatOrder & { files: ChatFiles };

/** Checks the body of a chat. It is answered whole. Throws `ApiError`. */
export async function checkChatLine(env: Env, caller: Caller, body: Record<string, unknown>): Promise<CheckedChat> {
  const order = checkChat(env, caller, body, await liveCatalog(env.DB));
  if (order.isStream) throw invalid("stream", "not_equal", { allowed: "false" });
  const files = await findChatFiles(env, caller, body, largeBody);
  return { ...order, files };
}

export const toCharge = ({ accountId, keyId }: BatchTerms, taskId: string, { model }: ChatOrder): Charge => ({
  v: chargeVersion,
  taskId,
  accountId,
  keyId,
  kind: "chat",
  model,
});

/** Holds the price. If it throws, the hold may exist. */
export const reserveChat = async (env: Env, charge: Charge, held: number): Promise<ReserveAnswer> =>
  env.WALLETS.getByName(charge.accountId).reserve(charge, held, { deadline: chatHoldEnds(), maxOpen: maxBatchTasks(env) });
