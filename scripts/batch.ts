/**
 * `npm run tools -- batch`: a batch of chats and images, three chats for each image, through the sandbox on a whole gateway that is killed on
 * the way. Checks that every line was made and charged once and that the results are whole and in order. Options: `--lines 300 --kills 3 --minutes 8`.
 */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { type Gateway, startGateway } from "./support/gateway.ts";
import { claimPort } from "./support/port.ts";
import { interruption, runToEnd } from "./support/program.ts";

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

interface BatchAnswer {
  id: string;
  status: string;
  counts: { total: number; completed: number; failed: number };
  cost: { reserved: number; charged: number };
  results_file?: string;
}

interface ResultLine {
  custom_id: string;
  status: string;
  task?: string;
  response?: { id: string };
  cost: { charged: number };
  error?: { code: string; message: string };
}

const stateDir = await mkdtemp(join(tmpdir(), "gateway-batch-"));
let starting: Promise<Gateway> | undefined;
await runToEnd(async (stopping) => {
  try {
    await Promise.race([run(stopping), interruption(stopping)]);
  } finally {
    // Also one that comes up again just now.
    await (await starting?.catch(() => undefined))?.stop();
    await rm(stateDir, { recursive: true, force: true });
  }
});

async function run(signal: AbortSignal): Promise<void> {
  const port = await claimPort(0);
  const start = () => (starting = startGateway({ stateDir, port, quiet: true, signal, env: { RATE_LIMITS: "off", LOG: "tasks" } }));
  let gateway = await start();
  // Each start makes a new key of the same account; the batch belongs to the first one.
  const { apiKey = "", baseUrl } = gateway;
  const ask = async (path: string, init: { method?: string; body?: string; headers?: Record<string, string> } = {}) => {
    const answer = await fetch(`${baseUrl}${path}`, { ...init, headers: { authorization: `Bearer ${apiKey}`, ...init.headers }, signal });
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    return answer;
  };
  const json = { "content-type": "application/json" };
  const admin = { ...json, authorization: `Bearer ${gateway.adminToken}` };
  const { data } = (await (await ask("/admin/accounts", { headers: admin })).json()) as { data: { id: string }[] };
  await ask(`/admin/accounts/${data[0]?.id}`, { method: "PATCH", headers: admin, body: JSON.stringify({ add: lines * price }) });

  const image = (prompt: string) => ({ endpoint: "/v1/images/generations", body: { model: "imgA-4", prompt } });
  const chat = (content: string) => ({
    endpoint: "/v1/chat/completions",
    body: { model: "textA-1-mini", messages: [{ role: "user", content }], max_tokens: 100 },
  });
  const line = (at: number) => ({ custom_id: `line-${at}`, ...(isImage(at) ? image(`Picture ${at}`) : chat(`Question ${at}`)) });
  const input = Array.from({ length: lines }, (_, at) => `${JSON.stringify(line(at))}\n`).join("");
  const file = (await (await ask("/v1/files", { method: "POST", body: input })).json()) as { id: string };
  const began = Date.now();
  const begun = await ask("/v1/batches", {
    method: "POST",
    headers: json,
    body: JSON.stringify({ input_file: file.id, concurrency: 50, max_cost: lines * price }),
  });
  const { id } = (await begun.json()) as BatchAnswer;

  const deadline = began + 60_000 * Number(values.minutes);
  let killed = 0;
  let batch: BatchAnswer;
  for (;;) {
    batch = (await (await ask(`/v1/batches/${id}`)).json()) as BatchAnswer;
    const ended = batch.counts.completed + batch.counts.failed;
    if (batch.results_file !== undefined || batch.status === "failed") break;
    if (Date.now() > deadline) throw new Error(`not ended in time: ${JSON.stringify(batch)}`);
    if (killed < kills && batch.counts.total > 0 && ended >= ((killed + 1) * lines) / (kills + 1)) {
      killed++;
      const at = Date.now();
      await gateway.kill();
      gateway = await start();
      console.log(`killed after ${ended} lines, up again in ${((Date.now() - at) / 1000).toFixed(1)} s`);
    }
    await sleep(500, undefined, { signal });
  }
  const seconds = (Date.now() - began) / 1000;
  const results = (await (await ask(`/v1/batches/${id}/results`)).text())
    .trim()
    .split("\n")
    .map((text) => JSON.parse(text) as ResultLine);
  const isInOrder = results.every(({ custom_id: own }, at) => own === `line-${at}`);
  const made = new Set(results.map(({ task, response }) => task ?? response?.id));
  const hasPrice = ({ charged }: ResultLine["cost"], at: number) => (isImage(at) ? charged === price : charged > 0 && charged < price);
  const charged = results.reduce((sum, { cost }) => sum + Math.round(cost.charged * 1e6), 0) / 1e6;
  const balance = (await (await ask("/v1/balance")).json()) as { used_balance: number };
  const faults = [
    ...(results.length === lines ? [] : [`${results.length} results`]),
    ...(isInOrder ? [] : ["the results are not in order"]),
    ...(made.size === lines ? [] : [`${made.size} tasks and chats`]),
    ...(results.every(({ status }) => status === "completed") ? [] : [`${batch.counts.failed} lines failed: ${failures(results)}`]),
    ...(results.every(({ cost }, at) => hasPrice(cost, at)) ? [] : ["a line has another price"]),
    ...(Math.abs(balance.used_balance - charged) < 1e-6 ? [] : [`the key was charged ${balance.used_balance} for ${charged}`]),
  ];
  console.log(`${lines} lines in ${seconds.toFixed(1)} s, ${(lines / seconds).toFixed(1)} a second, ${killed} kills, charged ${charged}`);
  if (faults.length > 0) throw new Error(faults.join("; "));
}

/** The errors of the lines, each with its number. */
function failures(results: ResultLine[]): string {
  const numbers = new Map<string, number>();
  for (const { error } of results) if (error) numbers.set(error.code, (numbers.get(error.code) ?? 0) + 1);
  return [...numbers].map(([code, number]) => `${number} ${code}`).join(", ");
}
