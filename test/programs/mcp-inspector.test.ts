/** The MCP inspector's command line against a gateway as started on a developer's machine. */

import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { gateway, newKey } from "./support/account.ts";

const inspector = "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js";
const run = promisify(execFile);
let home = "";
let key = "";

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "gateway-mcp-"));
  key = await newKey("mcp-inspector", 10);
});
afterAll(async () => {
  await rm(home, { recursive: true });
});

/** Runs a command of the inspector and returns what it prints, parsed. */
async function inspect(...options: string[]) {
  const target = [`${gateway.baseUrl}/mcp`, "--transport", "http", "--header", `Authorization: Bearer ${key}`];
  const { stdout } = await run(process.execPath, [inspector, "--cli", ...target, ...options], {
    // The inspector stores its own files in the user's home folder.
    env: { ...process.env, HOME: home, MCP_CATALOG_PATH: join(home, "mcp.json") },
    maxBuffer: 16 * 1024 * 1024,
  });
  return JSON.parse(stdout) as Record<string, unknown>;
}

test("the tools' schemas are portable", async () => {
  const { tools } = await inspect("--method", "tools/list", "--strict");
  expect(tools).toHaveLength(12);
});

test("an image is made with one call", async () => {
  const call = [
    "--method",
    "tools/call",
    "--tool-name",
    "generate_image",
    "--tool-arg",
    "model=imgA-4",
    "prompt=A lighthouse",
    "size=16:9",
  ];
  const made = await inspect(...call);
  expect(made).toMatchObject({
    content: expect.arrayContaining([expect.objectContaining({ type: "resource_link" }), expect.objectContaining({ type: "image" })]),
    structuredContent: { status: "completed", metadata: { size: "16:9" }, cost: { charged: 0.03 } },
  });
  const balance = await inspect("--method", "tools/call", "--tool-name", "balance");
  expect(balance["structuredContent"]).toMatchObject({ used_balance: 0.03 });
});
