/** The checks after the rescue: one task, one charge, two providers asked, a valid video, a receipt that verifies. */

import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { type Balances, receiptAnswer, receiptKeys, taskAnswer, taskList } from "../support/api-answers.ts";
import type { ApiClient } from "../support/api-client.ts";
import { billFaults, settledBalances } from "../support/bill.ts";
import { mp4Faults } from "../support/file-checks.ts";
import { root } from "../support/wrangler.ts";

/** The files in the output folder. */
export const files = { video: "rescue.mp4", receipt: "rescue-receipt.json", keys: "rescue-jwks.json" };
const expected = { duration: 8, size: "1280x720" };

/** The result of the checks. */
export interface Verdict {
  faults: string[];
  /** One line for each successful check. */
  facts: string[];
}

/** Checks the rescued task `id`, whose video is already in `outputDir`; `before` are the balances before it was submitted. */
export async function checkRescue(api: ApiClient, id: string, before: Balances, outputDir: string): Promise<Verdict> {
  const faults: string[] = [];
  const facts: string[] = [];
  const check = (found: string[], fact: string) => (found.length > 0 ? faults.push(...found) : facts.push(fact));
  const path = (name: string) => join(outputDir, name);

  const { data: tasks } = await api.ask(taskList, "/v1/tasks");
  const { data: task } = await api.ask(taskAnswer, `/v1/tasks/${id}`);
  check(
    tasks.length === 1 && task.status === "completed" ? [] : [`${tasks.length} tasks, ${id} is ${task.status}`],
    `one task, completed under the id that the script was given`,
  );

  const bytes = new Uint8Array(await readFile(path(files.video)));
  check(
    await mp4Faults({ bytes, type: "video/mp4", digest: null }, expected),
    `${files.video} plays: ${expected.duration} s, ${expected.size}, H.264 with AAC sound, ${bytes.length} bytes`,
  );

  const price = task.cost.reserved;
  const after = await settledBalances(api, before, price);
  check(
    [...billFaults(before, after, price), ...(price > 0 && task.cost.charged === price ? [] : ["the task was not charged its price"])],
    `one charge: balance ${before.account.remain_balance} before, ${after.account.remain_balance} after`,
  );

  const receipt = await api.ask(receiptAnswer, `/v1/tasks/${id}/receipt`);
  await writeFile(path(files.receipt), JSON.stringify(receipt));
  await writeFile(path(files.keys), JSON.stringify(await api.ask(receiptKeys, "/.well-known/jwks.json")));
  const verifier = join(root, "examples/verify-receipt.mjs");
  const verified = await promisify(execFile)(process.execPath, [verifier, ...[files.receipt, files.keys, files.video].map(path)]).then(
    ({ stdout }) => ({ stdout: stdout.trim(), found: [] }),
    (error: { stderr?: string }) => ({ stdout: "", found: [`receipt: ${error.stderr?.trim() ?? "it could not be verified"}`] }),
  );
  const { attempts, charged } = receipt.receipt;
  const agrees = attempts === 2 && charged === price ? [] : [`receipt: ${attempts} upstreams asked, ${charged} charged`];
  check([...verified.found, ...agrees], `receipt ${verified.stdout}, ${attempts} upstreams asked`);
  return { faults, facts };
}
