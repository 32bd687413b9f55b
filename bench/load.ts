/** The load: a number of requests over kept-alive connections, each answered before the next is sent. */

import { Agent, request as httpRequest } from "node:http";

export interface Call {
  method: "GET" | "POST";
  path: string;
  headers: Record<string, string>;
  body?: string;
}

export class Client {
  readonly #origin: URL;
  readonly #connections: number;
  readonly #agent: Agent;

  constructor(url: string, connections = 16) {
    this.#origin = new URL(url);
    this.#connections = connections;
    this.#agent = new Agent({ keepAlive: true, maxSockets: connections });
  }

  /** Reads one answer's body; `onText` gets each part as it arrives. Throws if the status is not 2xx. */
  send({ method, path, headers, body }: Call, onText?: (text: string) => void): Promise<string> {
    return new Promise((resolve, reject) => {
      const { hostname, port } = this.#origin;
      const length = body === undefined ? {} : { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
      const options = { agent: this.#agent, hostname, port, method, path, headers: { ...headers, ...length } };
      const sent = httpRequest(options, (response) => {
        let text = "";
        response.setEncoding("utf8");
        response.on("data", (chunk: string) => {
          text += chunk;
          onText?.(chunk);
        });
        response.on("error", reject);
        response.on("end", () => {
          const { statusCode = 0 } = response;
          if (statusCode >= 200 && statusCode < 300) resolve(text);
          else reject(new Error(`${method} ${path}: ${statusCode} ${text.slice(0, 300)}`));
        });
      });
      sent.on("error", reject);
      sent.end(body);
    });
  }

  /** Sends the requests in turn, `count` in all, the last of them before `forMs` have passed; returns each one's duration in milliseconds. */
  async run(calls: Call[], count: number, forMs = Infinity): Promise<number[]> {
    const latencies: number[] = [];
    const until = performance.now() + forMs;
    let sent = 0;
    const worker = async () => {
      for (let call = calls[0]; call && sent < count && performance.now() < until; call = calls[sent % calls.length]) {
        sent++;
        const started = performance.now();
        await this.send(call);
        latencies.push(performance.now() - started);
      }
    };
    await Promise.all(Array.from({ length: this.#connections }, worker));
    return latencies;
  }

  close(): void {
    this.#agent.destroy();
  }
}
