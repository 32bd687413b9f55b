/** A proxy in front of a gateway that loses the answers of chosen submissions after the gateway has given them. */

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** The proxy's counters, and its action for the answer to the n-th submission, from 1. */
export interface LossyProxy {
  baseUrl: string;
  submissions: number;
  /** Called after the gateway has answered a submission; true loses the answer. */
  loses: (submission: number) => boolean;
  close(): void;
}

/** Starts the proxy on a free port. */
export async function startLossyProxy(gateway: string): Promise<LossyProxy> {
  const server = createServer((request, response) => void forward(request, response));
  const proxy: LossyProxy = { baseUrl: "", submissions: 0, loses: () => false, close: () => void server.close() };

  async function forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { authorization = "", "idempotency-key": key } = request.headers;
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const answer = await fetch(gateway + request.url, {
      method: request.method ?? "GET",
      headers: { authorization, "content-type": "application/json", ...(key !== undefined && { "idempotency-key": String(key) }) },
      ...(request.method === "POST" && { body: Buffer.concat(chunks) }),
    });
    const body = Buffer.from(await answer.arrayBuffer());
    const isSubmission = request.method === "POST" && !request.url?.includes("dry_run");
    if (isSubmission && proxy.loses(++proxy.submissions)) return void request.socket.destroy();
    response.writeHead(answer.status, { "content-type": answer.headers.get("content-type") ?? "" });
    response.end(body);
  }

  await new Promise<void>((listening) => void server.listen(0, "127.0.0.1", listening));
  proxy.baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return proxy;
}
