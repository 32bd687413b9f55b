/** Checks each JSON answer that a test receives against the schema of its path and status: an undocumented field or status fails the test. */

import { expect } from "vitest";
import * as z from "zod/mini";
import * as schema from "../../src/api/schema.ts";

type Answers = Record<number, z.ZodMiniType>;

/** Successful answers by method and path. Other answers have no JSON body, or another format (chat, files, pages). */
const success: [method: string, path: RegExp, answers: Answers][] = [
  ["POST", /^\/v1\/(?:images|videos)\/generations$/, { 200: schema.submission }],
  ["POST", /^\/v1\/videos\/[^/]+\/remix$/, { 200: schema.submission }],
  ["GET", /^\/v1\/videos\/generations\/[^/]+$/, { 200: schema.videoStatus }],
  ["GET", /^\/v1\/characters_tasks\/[^/]+$/, { 200: schema.characterStatus }],
  ["GET", /^\/v1\/tasks$/, { 200: schema.taskList }],
  ["GET", /^\/v1\/tasks\/[^/]+$/, { 200: schema.taskAnswer }],
  ["POST", /^\/v1\/tasks\/[^/]+\/cancel$/, { 200: schema.taskAnswer }],
  ["GET", /^\/v1\/tasks\/[^/]+\/callback$/, { 200: schema.taskCallback }],
  ["POST", /^\/v1\/tasks\/[^/]+\/callback$/, { 200: schema.taskCallback }],
  ["GET", /^\/v1\/tasks\/[^/]+\/receipt$/, { 200: schema.receiptAnswer }],
  ["GET", /^\/\.well-known\/jwks\.json$/, { 200: schema.receiptKeys }],
  ["GET", /^\/v1\/events$/, { 200: schema.eventList }],
  ["GET", /^\/v1\/webhook$/, { 200: schema.webhook }],
  ["PUT", /^\/v1\/webhook$/, { 200: schema.webhook }],
  ["POST", /^\/v1\/webhook\/test$/, { 200: schema.webhookTest }],
  ["GET", /^\/v1\/webhook_secret$/, { 200: schema.webhookSecret }],
  ["POST", /^\/v1\/webhook_secret$/, { 200: schema.webhookSecret }],
  ["GET", /^\/v1\/key$/, { 200: schema.ownKey }],
  ["PATCH", /^\/admin\/keys\/[^/]+$/, { 200: schema.apiKey }],
  ["POST", /^\/v1\/tokens$/, { 201: schema.newToken }],
  ["GET", /^\/v1\/models$/, { 200: schema.modelList }],
  ["GET", /^\/v1\/models\/[^/]+$/, { 200: schema.modelEntry }],
  ["GET", /^\/v1\/usage$/, { 200: schema.usageList }],
  ["GET", /^\/v1\/characters$/, { 200: schema.characterList }],
  ["GET", /^(?:\/v1)?(?:\/user)?\/balance$/, { 200: schema.balance }],
  ["POST", /^\/admin\/accounts$/, { 201: schema.account }],
  ["GET", /^\/admin\/accounts$/, { 200: schema.accountList }],
  ["GET", /^\/admin\/accounts\/[^/]+$/, { 200: schema.account }],
  ["PATCH", /^\/admin\/accounts\/[^/]+$/, { 200: schema.account }],
  ["GET", /^\/admin\/accounts\/[^/]+\/keys$/, { 200: schema.apiKeyList }],
  ["POST", /^\/admin\/accounts\/[^/]+\/keys$/, { 201: schema.newApiKey }],
  ["POST", /^\/admin\/accounts\/[^/]+\/invitations$/, { 201: schema.invitation }],
  ["GET", /^\/admin\/audit$/, { 200: schema.audit }],
  ["GET", /^\/readyz$/, { 200: schema.readyAnswer }],
];

const isBalance = (path: string) => /^(?:\/v1)?(?:\/user)?\/balance$/.test(path);

function find(method: string, path: string, status: number): z.ZodMiniType | undefined {
  if (status >= 400) {
    if (path === "/readyz" && status === 503) return schema.notReadyAnswer;
    if (isBalance(path)) return schema.balanceErrorAnswer;
    return /^\/v1\/tasks(?:\/|$)/.test(path) ? schema.taskErrorAnswer : schema.errorAnswer;
  }
  return success.find(([m, pattern]) => m === method && pattern.test(path))?.[2][status];
}

/** The path as the gateway decodes it; unchanged if its encoding is broken. */
function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/** OpenAI's error format; other answers of these paths are checked by the types of OpenAI's client. */
const openAiError = z.strictObject({
  error: z.strictObject({
    message: z.string().check(z.minLength(1)),
    type: z.enum(["invalid_request_error", "insufficient_quota", "requests", "server_error"]),
    param: z.nullable(z.string()),
    code: z.nullable(z.string()),
  }),
});

function conformOpenAi(call: string, status: number, body: unknown): void {
  const result = status >= 400 ? openAiError.safeParse(body) : undefined;
  if (result && !result.success) expect.fail(`${call}: ${JSON.stringify(result.error.issues)}\n${JSON.stringify(body).slice(0, 2000)}`);
}

/** Fails the test when the answer's body does not match the schema of its path and status. */
export function conform(method: string, url: string, status: number, body: unknown): void {
  const { pathname: path, searchParams } = new URL(url);
  const pathname = decoded(path);
  if (pathname.startsWith("/console")) return;
  if (pathname.startsWith("/openai/v1/")) return conformOpenAi(`${method} ${pathname} ${status}`, status, body);
  const isDryRun = method === "POST" && searchParams.get("dry_run") === "true" && status === 200;
  const found = isDryRun ? schema.dryRun : find(method, pathname, status);
  const result = found?.safeParse(body);
  if (result && !result.success)
    expect.fail(`${method} ${pathname} ${status}: ${JSON.stringify(result.error.issues)}\n${JSON.stringify(body).slice(0, 2000)}`);
}
