/** Programs for agents from npm, with the configuration that the documentation shows. */

import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { afterAll, beforeAll, expect, test } from "vitest";
import { newAccount } from "../clients/account.ts";

const run = promisify(execFile);
let folder = "";

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "gateway-ecosystem-"));
  await writeFile(join(folder, "package.json"), "{}");
  await run("npm", ["install", "--prefer-offline", "--no-audit", "--no-fund", "@openai/codex@0.171.0", "mcp-remote@0.15.1"], {
    cwd: folder,
  });
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** The first block of a page in a language, with this gateway's address. */
async function block(page: string, language: string): Promise<string> {
  const text = await readFile(`src/console/site/docs/${page}.md`, "utf8");
  const [, found = ""] = new RegExp(`^\`{3}${language}\\n(.*?)^\`{3}$`, "ms").exec(text) ?? [];
  return found.replaceAll("https://gateway.example", process.env["GATEWAY_URL"] ?? "");
}

test("Codex CLI answers with the documentation's configuration", async () => {
  const { apiKey } = await newAccount();
  const home = join(folder, "codex");
  await mkdir(home);
  await writeFile(join(home, "config.toml"), await block("codex", "text"));
  const env = { PATH: process.env["PATH"], CODEX_HOME: home, API_KEY: apiKey };
  const running = run(join(folder, "node_modules/.bin/codex"), ["exec", "--skip-git-repo-check", "-C", home, "Good morning"], { env });
  running.child.stdin?.end();
  expect((await running).stdout).toContain("Good morning");
});

test("the bridge in the configuration for Claude Desktop lists the gateway's tools", async () => {
  const { apiKey } = await newAccount();
  const { mcpServers } = JSON.parse((await block("mcp-clients", "json")).replace("sk-...", apiKey)) as {
    mcpServers: { gateway: { args: string[]; env: Record<string, string> } };
  };
  const { args, env } = mcpServers.gateway;
  // Claude Desktop puts the variables of `env` into the program's environment; the bridge fills them in.
  const [, name = "", ...options] = args;
  const transport = new StdioClientTransport({
    command: join(folder, "node_modules/.bin", name),
    args: options,
    env: { ...env, PATH: process.env["PATH"] ?? "", HOME: folder },
  });
  const client = new Client({ name: "test", version: "1" });
  await client.connect(transport);
  expect((await client.listTools()).tools.map((tool) => tool.name)).toContain("generate_image");
  await client.close();
});

test.each(["Cursor", "VS Code"])("the configuration for %s leads to the gateway's tools", async (program) => {
  const { apiKey } = await newAccount();
  const text = await readFile("src/console/site/docs/mcp-clients.md", "utf8");
  const [, found = "{}"] = new RegExp(`^## ${program}\n.*?^\`{3}json\n(.*?)^\`{3}$`, "ms").exec(text) ?? [];
  const config = JSON.parse(found) as Record<"mcpServers" | "servers", { gateway: Server } | undefined>;
  const { url, headers } = (config.mcpServers ?? config.servers)!.gateway;
  // These programs fill in `${env:...}` and `${input:...}`.
  const authorization = headers.Authorization.replace(/\$\{\w+:[\w-]+\}/, apiKey);
  const address = new URL(url.replace("https://gateway.example", process.env["GATEWAY_URL"] ?? ""));
  const client = new Client({ name: "test", version: "1" });
  await client.connect(new StreamableHTTPClientTransport(address, { requestInit: { headers: { authorization } } }));
  expect((await client.listTools()).tools.map((tool) => tool.name)).toContain("generate_image");
  await client.close();
});

interface Server {
  url: string;
  headers: { Authorization: string };
}

test("Codex CLI takes the gateway's MCP server from the documentation's configuration", async () => {
  const { apiKey } = await newAccount();
  const home = join(folder, "codex-mcp");
  await mkdir(home);
  const text = await readFile("src/console/site/docs/mcp-clients.md", "utf8");
  const [, found = ""] = /^## Codex\n.*?^`{3}text\n(.*?)^`{3}$/ms.exec(text) ?? [];
  await writeFile(join(home, "config.toml"), found.replace("https://gateway.example", process.env["GATEWAY_URL"] ?? ""));
  const env = { PATH: process.env["PATH"], CODEX_HOME: home, API_KEY: apiKey };
  const { stdout } = await run(join(folder, "node_modules/.bin/codex"), ["mcp", "list", "--json"], { env });
  expect(JSON.parse(stdout)).toMatchObject([{ name: "gateway", enabled: true, transport: { bearer_token_env_var: "API_KEY" } }]);
});
