/** n8n (three gigabytes, some ten minutes to install) with the workflow of its page: a video is submitted, the gateway calls the waiting workflow, and the file is downloaded. */

import { execFile, spawn } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { claimPort } from "../../scripts/support/port.ts";
import { newAccount } from "../clients/account.ts";

const run = promisify(execFile);
let folder = "";
let stop = () => Promise.resolve();

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "gateway-n8n-"));
  await writeFile(join(folder, "package.json"), "{}");
  const install = ["install", "--prefer-offline", "--no-audit", "--no-fund", "--ignore-scripts", "n8n@2.40.7"];
  await run("npm", install, { cwd: folder, maxBuffer: 1e8 });
  // Of its scripts only its database's is needed: others want compilers and libraries for its nodes of message queues.
  await run("npm", ["rebuild", "sqlite3"], { cwd: folder, maxBuffer: 1e8 });
}, 1_800_000);
afterAll(async () => {
  await stop();
  await rm(folder, { recursive: true, force: true });
});

/** What the page says, with this gateway's address. */
async function readPage() {
  const text = await readFile("src/console/site/docs/n8n.md", "utf8");
  const find = (pattern: RegExp) => {
    const [, found] = pattern.exec(text) ?? [];
    if (found === undefined) throw new Error(`the page lacks ${pattern}`);
    return found.trim();
  };
  return {
    url: find(/\| URL +\| `(.*?)`/).replace("https://gateway.example", process.env["GATEWAY_URL"] ?? ""),
    idempotencyKey: find(/`Idempotency-Key`: `(.*?)`/),
    body: find(/^`{3}text\n(.*?)^`{3}$/ms),
    link: find(/`(\{\{ \$json\.body\.data.*?\}\})`/),
    type: find(/`(\{\{ \$json\.body\.type \}\})`/),
  };
}

test("a workflow submits a video, waits for the gateway's call, and downloads the file", { timeout: 600_000 }, async () => {
  const { apiKey } = await newAccount();
  const page = await readPage();
  const { promise: told, resolve: tell } = Promise.withResolvers<unknown>();
  const receiver = createServer((request, answer) => {
    let body = "";
    request.on("data", (part) => (body += part));
    request.on("end", () => {
      answer.end();
      tell(JSON.parse(body));
    });
  });
  await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));

  const prompt = 'The lamp "turns"';
  const http = (name: string, parameters: object) => ({ name, type: "n8n-nodes-base.httpRequest", typeVersion: 4.2, parameters });
  const nodes = [
    { name: "Begin", type: "n8n-nodes-base.webhook", typeVersion: 2, parameters: { httpMethod: "POST", path: "film" } },
    { name: "Prompt", type: "n8n-nodes-base.set", typeVersion: 3.4, parameters: { mode: "raw", jsonOutput: JSON.stringify({ prompt }) } },
    {
      ...http("Submit", {
        method: "POST",
        url: page.url,
        authentication: "genericCredentialType",
        genericAuthType: "httpHeaderAuth",
        sendHeaders: true,
        headerParameters: { parameters: [{ name: "Idempotency-Key", value: `=${page.idempotencyKey}` }] },
        sendBody: true,
        specifyBody: "json",
        jsonBody: `=${page.body}`,
      }),
      credentials: { httpHeaderAuth: { id: "gateway", name: "gateway" } },
    },
    { name: "Wait", type: "n8n-nodes-base.wait", typeVersion: 1.1, parameters: { resume: "webhook", httpMethod: "POST" } },
    http("Download", { url: `=${page.link}`, options: { response: { response: { responseFormat: "file" } } } }),
    http("Tell", {
      method: "POST",
      url: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`,
      sendBody: true,
      specifyBody: "json",
      jsonBody: `={{ { type: ${page.type.slice(2, -2).replace("$json", "$('Wait').item.json")}, file: $binary.data.mimeType, prompt: $('Wait').item.json.body.data.metadata.prompt } }}`,
    }),
  ];
  const workflow = {
    id: "film",
    name: "Film",
    active: false,
    settings: { executionOrder: "v1" },
    nodes: nodes.map((node, at) => ({ id: `node-${at}`, webhookId: `film-${at}`, position: [200 * at, 0], ...node })),
    connections: Object.fromEntries(
      nodes.slice(0, -1).map(({ name }, at) => [name, { main: [[{ node: nodes.at(at + 1)?.name, type: "main", index: 0 }]] }]),
    ),
  };
  const credential = { id: "gateway", name: "gateway", type: "httpHeaderAuth", data: { name: "Authorization", value: `Bearer ${apiKey}` } };
  await writeFile(join(folder, "workflow.json"), JSON.stringify([workflow]));
  await writeFile(join(folder, "credential.json"), JSON.stringify([credential]));

  const port = await claimPort(0);
  const address = `http://127.0.0.1:${port}`;
  const env = {
    PATH: process.env["PATH"],
    HOME: folder,
    N8N_USER_FOLDER: folder,
    N8N_PORT: String(port),
    N8N_LISTEN_ADDRESS: "127.0.0.1",
    WEBHOOK_URL: address,
    N8N_DIAGNOSTICS_ENABLED: "false",
    N8N_VERSION_NOTIFICATIONS_ENABLED: "false",
    N8N_TEMPLATES_ENABLED: "false",
  };
  const program = join(folder, "node_modules/.bin/n8n");
  for (const args of [
    ["import:credentials", "--input=credential.json"],
    ["import:workflow", "--input=workflow.json"],
    ["publish:workflow", "--id=film"],
  ])
    await run(program, args, { cwd: folder, env });
  const n8n = spawn(program, ["start"], { cwd: folder, env, stdio: "ignore" });
  const ended = new Promise<void>((resolve) => n8n.once("exit", () => resolve()));
  stop = () => (n8n.kill("SIGTERM"), ended);
  await expect
    .poll(
      () =>
        fetch(`${address}/webhook/film`, { method: "POST" })
          .then(({ ok }) => ok)
          .catch(() => false),
      { timeout: 180_000, interval: 1_000 },
    )
    .toBe(true);
  expect(await told).toEqual({ type: "task.completed", file: "video/mp4", prompt });
  receiver.close();
});
