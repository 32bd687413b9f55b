/**
 * `npm run tools -- batch`: a batch of chats and images, three chats for each image, through the sandbox on a whole gateway that is killed on
 * the way. Checks that every line was made and charged once and that the results are whole and in order. Options: `--lines 300 --kills 3 --minutes 8`.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import * as z from "zod/mini";
import { type CrashingGateway, withCrashingGateway } from "./engine/crashing-gateway.ts";
import { createAccount } from "./engine/wallets.ts";
import { AdminClient } from "./support/admin-client.ts";
import { batch, batchResult, file } from "./support/api-answers.ts";
import { ApiClient } from "./support/api-client.ts";
import { micro } from "./support/bill.ts";
import { runToEnd } from "./support/program.ts";

const { values } = parseArgs({
  options: {
    lines: { type: "string", default: "300" },
    kills: { type: "string", default: "3" },
    minutes: { type: "string", default: "8" },
  },
});
const lines = Number(values.lines);
const kills = Number(values.kills);
/** The price of an image, which is also more than a chat is held at. */
const price = 0.03;
const isImage = (at: number) => at % 4 === 0;
type Result = z.infer<typeof batchResult>;

await runToEnd(async (signal) => {
  const faults = await withCrashingGateway("batch", signal, (gateway) => run(gateway, signal));
  if (faults.length > 0) throw new Error(faults.join("; "));
});

/** Runs the batch and returns what is wrong with its results. */
async function run(gateway: CrashingGateway, signal: AbortSignal): Promise<string[]> {
  const { baseUrl } = gateway;
  const { apiKey } = await createAccount(new AdminClient(baseUrl, gateway.adminToken), "batch", lines * price, null);
  const api = new ApiClient(baseUrl, apiKey);
  const image = (prompt: string) => ({ endpoint: "/v1/images/generations", body: { model: "imgA-4", prompt } });
  const chat = (content: string) => ({
    endpoint: "/v1/chat/completions",
    body: { model: "textA-1-mini", messages: [{ role: "user", content }], max_tokens: 100 },
  });
  const line = (at: number) => ({ custom_id: `line-${at}`, ...(isImage(at) ? image(`Picture ${at}`) : chat(`Question ${at}`)) });
  const input = Array.from({ length: lines }, (_, at) => `${JSON.stringify(line(at))}\n`).join("");
  const { id: inputFile } = await api.ask(file, "/v1/files", input);
  const began = Date.now();
  const { id } = await api.ask(batch, "/v1/batches", { input_file: inputFile, concurrency: 50, max_cost: lines * price });

  const deadline = began + 60_000 * Number(values.minutes);
  for (;;) {
    const shown = await api.ask(batch, `/v1/batches/${id}`);
    const ended = shown.counts.completed + shown.counts.failed;
    if (shown.results_file !== undefined || shown.status === "failed") break;
    if (Date.now() > deadline) throw new Error(`the batch did not end in ${values.minutes} minutes: ${JSON.stringify(shown)}`);
    const killed = gateway.crashes.length;
    if (killed < kills && shown.counts.total > 0 && ended >= ((killed + 1) * lines) / (kills + 1)) {
      await gateway.kill();
      const { at, upAt } = await gateway.restart();
      console.log(`killed after ${ended} lines, up again in ${((upAt - at) / 1000).toFixed(1)} s`);
    }
    await sleep(500, undefined, { signal });
  }
  const seconds = (Date.now() - began) / 1000;
  const results = (await (await api.open(`/v1/batches/${id}/results`)).text())
    .trim()
    .split("\n")
    .map((one) => batchResult.parse(JSON.parse(one)));
  const charged = results.reduce((sum, { cost }) => sum + micro(cost.charged), 0);
  const { used_balance: used } = (await api.balances()).key;
  console.log(
    `${lines} lines in ${seconds.toFixed(1)} s, ${(lines / seconds).toFixed(1)} a second, ${gateway.crashes.length} kills, charged ${charged / 1e6}`,
  );
  return findFaults(results, charged, micro(used));
}

/** `charged` is the sum of the results, `used` what the key was charged, both in millionths. */
function findFaults(results: Result[], charged: number, used: number): string[] {
  const isInOrder = results.every(({ custom_id: own }, at) => own === `line-${at}`);
  const made = new Set(results.map(({ task, response }) => task ?? response?.id));
  const hasPrice = ({ charged }: Result["cost"], at: number) => (isImage(at) ? charged === price : charged > 0 && charged < price);
  const errors = results.flatMap(({ error }) => error?.code ?? []);
  return [
    ...(results.length === lines ? [] : [`${results.length} results`]),
    ...(isInOrder ? [] : ["the results are not in order"]),
    ...(made.size === lines ? [] : [`${made.size} tasks and chats`]),
    ...(results.every(({ status }) => status === "completed") ? [] : [`${errors.length} lines failed: ${[...new Set(errors)].join(", ")}`]),
    ...(results.every(({ cost }, at) => hasPrice(cost, at)) ? [] : ["a line has another price"]),
    ...(used === charged ? [] : [`the key was charged ${used / 1e6} for ${charged / 1e6}`]),
  ];
}
