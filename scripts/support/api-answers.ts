/** Schemas of the gateway's answers for scripts: those of the API description. Those of chats are OpenAI's. */

import * as z from "zod/mini";
import type { balance } from "../../src/api/schema/account.ts";
import type { account, audit } from "../../src/api/schema/admin.ts";
import type { modelList } from "../../src/api/schema/models.ts";
import type { submission, taskAnswer, videoStatus } from "../../src/api/schema/tasks.ts";

export { balance, characterList } from "../../src/api/schema/account.ts";
export { batch, batchResult } from "../../src/api/schema/batches.ts";
export { file } from "../../src/api/schema/files.ts";
export { account, audit, invitation, modelEntry, reconciliation, soldModels, testAlert } from "../../src/api/schema/admin.ts";
export { apiKeyList } from "../../src/api/schema/keys.ts";
export { modelList } from "../../src/api/schema/models.ts";
export { receiptAnswer, receiptKeys } from "../../src/api/schema/receipts.ts";
export { characterStatus, submission, taskAnswer, taskList, videoStatus } from "../../src/api/schema/tasks.ts";

const usage = z.object({ prompt_tokens: z.int(), completion_tokens: z.int() });

/** A whole chat answer. */
export const chatAnswer = z.object({ choices: z.array(z.object({ message: z.object({ content: z.string() }) })), usage });

/** One event of a chat stream. */
export const chatChunk = z.object({
  choices: z.array(z.object({ delta: z.object({ content: z.nullish(z.string()) }) })),
  usage: z.nullish(usage),
});

/** `data` of a task, in the generic query and in the list. */
export type TaskData = z.infer<typeof taskAnswer>["data"];
/** Fields of all status answers. */
export type Status = Pick<TaskData, "id" | "progress" | "completed_at"> & {
  status: TaskData["status"] | "submitted";
  error?: { message: string } | undefined;
};
/** The token counts of a chat answer. */
export type Usage = z.infer<typeof usage>;
/** Both balances: of the key and of its account. */
export type Balances = Record<"key" | "account", Omit<z.infer<typeof balance>, "success">>;
/** The balance of an account or key, in balance units. */
export type Wallet = Pick<z.infer<typeof account>, "quota" | "used" | "reserved" | "remaining">;
/** The findings of the operator's audit. */
export type Audit = Pick<z.infer<typeof audit>, "tasks_open" | "reserved"> & { drift: readonly object[] };
/** The models and their prices. */
export type PriceList = { data: Pick<z.infer<typeof modelList>["data"][number], "id" | "price">[] };
/** The answer to a submission. */
export type Submission = z.infer<typeof submission>;
/** A video task's status. */
export type VideoStatus = z.infer<typeof videoStatus>;

type Result = TaskData["result"];
/** The outputs of a task; empty for tasks of another kind and open ones. */
export const resultImages = (result: Result) => (result && "images" in result ? result.images : []);
export const resultVideos = (result: Result) => (result && "videos" in result ? result.videos : []);
export const resultCharacters = (result: Result) => (result && "type" in result ? result.data.characters : []);
