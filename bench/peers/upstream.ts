/** The upstream of all measured gateways: a program that answers chats in OpenAI's format, whole, in a burst of chunks, or paced. It reports its port to its parent. */

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { chunks, now, paceMs, pacedPrompt, timedPrompt, toTimedText, words } from "./chats.ts";

const usage = { prompt_tokens: 60, completion_tokens: chunks, total_tokens: 60 + chunks };
const head = { id: "chatcmpl-upstream", created: 1_700_000_000, model: "upstream-model" };

const whole = Buffer.from(
  JSON.stringify({
    ...head,
    object: "chat.completion",
    choices: [{ index: 0, message: { role: "assistant", content: words.join(""), refusal: null }, logprobs: null, finish_reason: "stop" }],
    usage,
    system_fingerprint: "fp_bench",
  }),
);

const toEvent = (fields: object) => Buffer.from(`data: ${JSON.stringify({ ...head, object: "chat.completion.chunk", ...fields })}\n\n`);
const toChunk = (content: string, at: number) => {
  const delta = at === 0 ? { role: "assistant", content, refusal: null } : { content };
  return toEvent({ choices: [{ index: 0, delta, logprobs: null, finish_reason: at === chunks - 1 ? "stop" : null }], usage: null });
};
const events = words.map(toChunk);
const end = Buffer.concat([toEvent({ choices: [], usage }), Buffer.from("data: [DONE]\n\n")]);

async function stream(response: ServerResponse, isPaced: boolean, isTimed: boolean): Promise<void> {
  response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache" });
  for (const [at, event] of events.entries()) {
    response.write(isTimed ? toChunk(toTimedText(now()), at) : event);
    // In a burst every chunk is written separately, with writes of other connections in between.
    await (isPaced ? sleep(paceMs) : nextTurn());
  }
  response.end(end);
}

const server = createServer((request: IncomingMessage, response: ServerResponse) => {
  let body = "";
  request.setEncoding("utf8");
  request.on("data", (part: string) => (body += part));
  request.on("end", () => {
    if (request.method !== "POST" || request.url !== "/v1/chat/completions") response.writeHead(404).end();
    else if (/"stream": ?true/.test(body)) {
      const isTimed = body.includes(timedPrompt);
      void stream(response, isTimed || body.includes(pacedPrompt), isTimed);
    } else response.writeHead(200, { "content-type": "application/json", "content-length": whole.byteLength }).end(whole);
  });
});
server.keepAliveTimeout = 120_000; // longer than the turns of all other gateways, so that no gateway uses a connection that the upstream has just closed
server.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));
process.once("disconnect", () => process.exit());
