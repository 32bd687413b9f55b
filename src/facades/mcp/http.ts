/** `/mcp` over HTTP: authentication, the session id, and the official SDK's streamable transport, with one server for each request. */

import { createMcpHandler, localhostAllowedOrigins, originValidationResponse } from "@modelcontextprotocol/server";
import type { GatewayApi, Receive } from "../../rpc/gateway-api.ts";
import { sha256Hex } from "../../base/ids.ts";
import { exceedsLimits } from "../../media/json-limits.ts";
import { ApiClient } from "../client.ts";
import { type Body, maxBodyBytes, readBody } from "./body.ts";
import { toRefusal } from "./errors.ts";
import { readModels } from "./models.ts";
import { createServer } from "./server.ts";

const sessionHeader = "mcp-session-id";

/**
 * Answers a request of an MCP client with the permissions of its API key, which the gateway has checked and counted once. Between requests
 * only the list of models is kept. `hold` is given the body, whose permit the caller releases when the answer has been read.
 */
export async function serve(
  request: Request,
  api: GatewayApi,
  receive: Receive,
  hold: (body: Extract<Body, { text: string }>) => void,
): Promise<Response> {
  const foreign = refuseOrigin(request);
  if (foreign) return foreign;
  const client = new ApiClient(api, request, toRefusal);
  const authorization = request.headers.get("authorization");
  const models = await readModels(client, authorization);
  if (models instanceof Response) return models;
  const read = request.method === "POST" ? await readBody(request, api, receive) : undefined;
  if (read && "refused" in read) return jsonRpcError(read.status, read.refused, read.status === 503 ? { "retry-after": "5" } : {});
  if (read) hold(read);
  if (read && exceedsLimits(read.text))
    return jsonRpcError(400, "The request body may have at most 100,000 values, nested at most 64 deep.");

  const refused = read && (await countFurther(read.text, api));
  if (refused) return refused;

  const session = request.headers.get(sessionHeader);
  const caller = { client, models, session: session ?? (await sha256Hex(authorization ?? "")) };
  const handler = createMcpHandler(() => createServer(caller), { maxRequestBodySize: maxBodyBytes });
  const response = await handler.fetch(read ? new Request(request, { method: "POST", body: read.text }) : request);
  if (session !== null || !read || !isInitialize(read.text) || !response.ok) return response;
  // Nothing is stored for a session. Its id only separates the idempotency keys of sessions that use the same API key.
  const headers = new Headers(response.headers);
  headers.set(sessionHeader, crypto.randomUUID());
  return new Response(response.body, { status: response.status, headers });
}

/**
 * Refuses pages of other origins, as the protocol requires. On a developer's machine all its local host names are allowed. Programs send no
 * `Origin`.
 */
function refuseOrigin(request: Request): Response | undefined {
  const { hostname } = new URL(request.url);
  const local = localhostAllowedOrigins();
  return originValidationResponse(request, local.includes(hostname) ? local : [hostname]);
}

/** The largest batch that the transport accepts. */
const maxBatch = 100;

/** Counts each message of a batch after the first as a request of its own. Returns the gateway's error if that exceeds a limit. */
async function countFurther(text: string, api: GatewayApi): Promise<Response | undefined> {
  if (!/^\s*\[/.test(text)) return undefined;
  try {
    const messages: unknown = JSON.parse(text);
    const further = Array.isArray(messages) ? Math.min(messages.length, maxBatch) - 1 : 0;
    return further > 0 ? await api.countReads(further) : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined; // the transport answers a body that is not JSON
    throw error;
  }
}

const jsonRpcError = (status: number, message: string, headers: Record<string, string> = {}) =>
  Response.json({ jsonrpc: "2.0", error: { code: -32_000, message }, id: null }, { status, headers });

function isInitialize(text: string): boolean {
  if (text.length > 64 * 1024) return false;
  try {
    return (JSON.parse(text) as { method?: unknown } | null)?.method === "initialize";
  } catch {
    return false; // the transport answers a body that is not JSON
  }
}
