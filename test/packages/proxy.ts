/** A proxy before the gateway that loses, cuts, delays and replaces answers, as networks and platforms do. */

import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** What happens to a request. `lost` and those after it reach the gateway: their work is done and the client does not hear of it. */
const faults = ["drop", "lost", "cut", "stall", "empty", "html", "page", "failed", "foreign", "delay"] as const;
type Fault = (typeof faults)[number];

export interface Proxy {
  url: string;
  close: () => Promise<void>;
}

/** The page of the platform's edge for a Worker that threw; with status 200, a page of a login or of a hotel's network. */
const page = "<!DOCTYPE html><html><title>Worker threw exception | Cloudflare</title><body>Error 1101</body></html>";

/**
 * Starts a proxy. `PUT /faults/{fault}/{count}[/{pass}]` sets what happens to the next requests, after the first `pass` of them; `GET /faults`
 * returns the requests since then, as `METHOD path idempotency-key`. `PUT /bucket/{name}` stores a file like a presigned URL does, `GET` returns
 * it; the name `forbidden` is refused, and one that begins with `repaired` the first time.
 */
export async function startProxy(gateway: string): Promise<Proxy> {
  let next: { fault: Fault; count: number; pass: number } = { fault: "drop", count: 0, pass: 0 };
  let seen: string[] = [];
  const bucket = new Map<string, Buffer>();
  const server = createServer((asked, answer) => {
    const [, control, fault = "", count = "1", pass = "0"] = (asked.url ?? "").replace(/\?.*/, "").split("/");
    if (control === "bucket") return void keep(bucket, fault, asked, answer);
    if (control === "faults") {
      if (asked.method === "GET") return answer.end(JSON.stringify(seen));
      next = { fault: faults.find((one) => one === fault) ?? "drop", count: Number(count), pass: Number(pass) };
      seen = [];
      return answer.end();
    }
    seen.push(`${asked.method} ${asked.url} ${String(asked.headers["idempotency-key"] ?? "")}`);
    if (next.pass-- > 0 || next.count <= 0) return forward(gateway, asked, answer);
    next.count--;
    if (next.fault === "drop") return asked.socket.destroy();
    return forward(gateway, asked, answer, next.fault);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function keep(bucket: Map<string, Buffer>, name: string, asked: IncomingMessage, answer: ServerResponse): Promise<void> {
  const parts: Buffer[] = [];
  for await (const part of asked) parts.push(part as Buffer);
  const isRefused = name === "forbidden" || (name.startsWith("repaired") && !bucket.has(name));
  if (isRefused) bucket.set(name, Buffer.alloc(0));
  if (isRefused) return void answer.writeHead(403).end();
  if (asked.method === "PUT") bucket.set(name, Buffer.concat(parts));
  answer.writeHead(bucket.has(name) ? 200 : 404).end(asked.method === "GET" ? bucket.get(name) : undefined);
}

function forward(gateway: string, asked: IncomingMessage, answer: ServerResponse, fault?: Fault): void {
  // With the proxy's own host: links to files lead through it too.
  const { headers } = asked;
  const onward = request(new URL(asked.url ?? "/", gateway), { method: asked.method, headers }, (response) => {
    const pass = () => {
      answer.writeHead(response.statusCode ?? 502, response.headers);
      response.pipe(answer);
    };
    if (fault === undefined) return pass();
    if (fault === "delay") return void setTimeout(pass, 3000);
    const parts: Buffer[] = [];
    response.on("data", (part: Buffer) => parts.push(part));
    response.on("end", () => {
      const body = Buffer.concat(parts);
      if (fault === "lost") {
        answer.destroy();
        return;
      }
      if (fault === "cut" || fault === "stall" || fault === "empty") {
        const { "transfer-encoding": _chunked, ...kept } = response.headers;
        const length = fault === "empty" ? 0 : body.length;
        answer.writeHead(response.statusCode ?? 502, { ...kept, "content-length": length });
        if (length === 0) return void answer.end();
        // A stalled connection stays open until its client leaves.
        answer.write(body.subarray(0, Math.ceil(length / 2)), () => fault === "cut" && setTimeout(() => answer.destroy(), 50));
        return;
      }
      if (fault === "failed") {
        answer.writeHead(500, { "content-type": "application/json" });
        answer.end(JSON.stringify({ error: { code: "internal_error", message: "Internal error.", type: "server_error" } }));
        return;
      }
      const isPage = fault === "html" || fault === "page";
      answer.writeHead(fault === "page" ? 200 : isPage ? 500 : 503, { "content-type": isPage ? "text/html" : "application/json" });
      answer.end(isPage ? page : JSON.stringify({ success: false, errors: [{ code: 10_000, message: "Internal" }], result: null }));
    });
  });
  // The client has gone, or the gateway has.
  onward.on("error", () => answer.destroy());
  answer.on("close", () => onward.destroy());
  asked.pipe(onward);
}
