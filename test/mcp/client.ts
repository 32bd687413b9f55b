/** Agents: the official SDK's client, connected to the gateway over its real transport. */

import { exports } from "cloudflare:workers";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { onTestFinished } from "vitest";

export const address = new URL("https://gateway.example/mcp");

/** The protocol's revisions: 2025-11-25 begins with a handshake, 2026-07-28 does without. */
export type Era = "legacy" | "modern";

/** A client that is connected with a key. It is closed at the end of the test. */
export async function connect(key: string, era: Era = "legacy"): Promise<Client> {
  const client = new Client(
    { name: "test-agent", version: "1.0.0" },
    { versionNegotiation: { mode: era === "legacy" ? "legacy" : { pin: "2026-07-28" } } },
  );
  const transport = new StreamableHTTPClientTransport(address, {
    fetch: (url, init) => exports.default.fetch(new Request(url, init)),
    requestInit: { headers: { authorization: `Bearer ${key}` } },
  });
  await client.connect(transport);
  onTestFinished(() => client.close());
  return client;
}

/** Calls a tool; returns its result, with the text of its content. */
export async function callTool(client: Client, name: string, args: Record<string, unknown> = {}) {
  const result = await client.callTool({ name, arguments: args });
  const text = result.content.flatMap((part) => (part.type === "text" ? part.text : [])).join("\n");
  // oxlint-disable-next-line typescript/no-explicit-any -- records are looked at field by field
  return { ...result, text, record: result.structuredContent as any };
}
