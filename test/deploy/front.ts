/** The emulated internet: an HTTPS proxy on 127.0.0.1 for the deployed hosts, with its own certificate. */

import { once } from "node:events";
import { createServer as createProxy, type IncomingMessage, type Server } from "node:http";
import { createServer as createHttps } from "node:https";
import { type AddressInfo, connect, type Socket } from "node:net";
import { Readable } from "node:stream";
import type { ReadableStream as NodeStream } from "node:stream/web";
import { certificateFor } from "./certificate.ts";

/** The running proxy. */
export interface Front {
  /** For HTTPS_PROXY. */
  proxyUrl: string;
  /** For NODE_EXTRA_CA_CERTS, as PEM. */
  certificate: string;
  /** The hosts that were requested. */
  hosts: string[];
  close(): Promise<void>;
}

/** Serves the hosts; `answer` returns undefined for an unknown host. */
export async function startFront(
  hosts: string[],
  answer: (host: string, request: Request) => Promise<Response | undefined>,
): Promise<Front> {
  const { key, certificate } = certificateFor(hosts);
  const https = createHttps({ key, cert: certificate }, (incoming, outgoing) => {
    void (async () => {
      const host = incoming.headers.host ?? "";
      const response = await answer(host, toRequest(host, incoming)).catch(
        (error: unknown) => new Response(String(error), { status: 500 }),
      );
      if (!response) {
        outgoing.writeHead(530).end("error code: 1016");
        return;
      }
      outgoing.writeHead(response.status, Object.fromEntries(response.headers));
      if (response.body) Readable.fromWeb(response.body as NodeStream).pipe(outgoing);
      else outgoing.end();
    })();
  });
  const asked: string[] = [];
  const proxy = createProxy((_, outgoing) => outgoing.writeHead(405).end());
  proxy.on("connect", (request: IncomingMessage, client: Socket) => {
    asked.push(request.url ?? "");
    const server = connect((https.address() as AddressInfo).port, "127.0.0.1", () => {
      client.write("HTTP/1.1 200 Connection established\r\n\r\n");
      client.pipe(server).pipe(client);
    });
    // Either side may close the connection first.
    client.on("error", () => server.destroy());
    server.on("error", () => client.destroy());
  });
  await Promise.all([https, proxy].map((server: Server) => once(server.listen(0, "127.0.0.1"), "listening")));
  return {
    proxyUrl: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    certificate,
    hosts: asked,
    close: async () => {
      for (const server of [https, proxy]) {
        server.closeAllConnections();
        server.close();
      }
    },
  };
}

const toRequest = (host: string, incoming: IncomingMessage): Request =>
  new Request(`https://${host}${incoming.url}`, {
    method: incoming.method ?? "GET",
    headers: Object.entries(incoming.headers).flatMap(([name, value]) =>
      name.startsWith(":") || value === undefined ? [] : [[name, String(value)] as [string, string]],
    ),
    ...(!["GET", "HEAD"].includes(incoming.method ?? "GET") && {
      body: Readable.toWeb(incoming) as unknown as ReadableStream,
      duplex: "half",
    }),
  });
