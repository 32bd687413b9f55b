/** `/mcp` over HTTP: authentication, the session id, and the official SDK's streamable transport, with one server for each request. */

import { createMcpHandler, localhostAllowedOrigins, originValidationResponse, readRequestBody } from "@modelcontextprotocol/server";
import { sha256Hex } from "../ids.ts";
import { exceedsLimits } from "../media/json-limits.ts";
import { type Api, ApiClient } from "./api-client.ts";
import { readModels } from "./models.ts";
import { createServer } from "./server.ts";

/** Inline images are Base64 in the arguments; larger images must be given as URLs. */
const maxBodyBytes = 16 * 1024 * 1024;
const sessionHeader = "mcp-session-id";

/** Answers a request of an MCP client with the permissions of its API key. Between requests only the list of models is kept. */
export async function serve(request: Request, api: Api): Promise<Response> {
  const foreign = refuseOrigin(request);
  if (foreign) return foreign;
  const client = new ApiClient(api, request);
  const authorization = request.headers.get("authorization");
  const models = await readModels(client, authorization);
  if (models instanceof Response) return refuse(models, authorization !== null);
  const read = request.method === "POST" ? await readRequestBody(request, maxBodyBytes) : undefined;
  if (read?.tooLarge) return jsonRpcError(413, `The request body must be at most ${maxBodyBytes / 1024 / 1024} MiB.`);
  if (read && exceedsLimits(read.text))
    return jsonRpcError(400, "The request body may have at most 100,000 values, nested at most 64 deep.");

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

/** The gateway's own error for a caller. A 401 has the challenge that makes clients request a valid key. */
function refuse(answer: Response, hadKey: boolean): Response {
  const headers = new Headers(answer.headers);
  if (answer.status === 401) headers.set("www-authenticate", hadKey ? 'Bearer error="invalid_token"' : "Bearer");
  return new Response(answer.body, { status: answer.status, headers });
}

const jsonRpcError = (status: number, message: string) =>
  Response.json({ jsonrpc: "2.0", error: { code: -32_000, message }, id: null }, { status });

function isInitialize(text: string): boolean {
  if (text.length > 64 * 1024) return false;
  try {
    return (JSON.parse(text) as { method?: unknown } | null)?.method === "initialize";
  } catch {
    return false; // the transport answers a body that is not JSON
  }
}
