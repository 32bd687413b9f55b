/** The scripted upstream and a receiver of callbacks for the upgrade test: work named in a prompt is held until the next revision runs. */

import { upstream } from "../../node/support/upstream.ts";

/** Where a task is held: the upstream does not answer its start, reports it as running, or sends no file. */
export type Stop = "start" | "poll" | "download" | "chat";

const never = () => new Promise<Response>(() => undefined);

/** The prompts of held work begin with `<stop> <phase>`. */
export const stopped = (stop: Stop, phase: number) => `${stop} ${phase}:`;

export class HeldUpstream {
  /** Incremented with each revision: work held in an earlier phase continues. */
  phase = 0;
  /** The prompts of operations by their key. */
  readonly prompts = new Map<string, string>();
  /** The received requests: `<call> <prompt>`. */
  readonly asked = new Set<string>();
  /** The ids of delivered callbacks. */
  readonly called: string[] = [];

  /** The gateway's service binding. */
  readonly answer = async (request: Request): Promise<Response> => {
    const { pathname } = new URL(request.url);
    if (request.method === "POST") {
      const body = (await request.clone().json()) as { key?: string; prompt?: string; messages?: { content: string }[] };
      const prompt = body.prompt ?? body.messages?.at(-1)?.content ?? "";
      if (body.key !== undefined) this.prompts.set(body.key, prompt);
      return this.#stops(body.key === undefined ? "chat" : "start", prompt) ? never() : upstream(request);
    }
    const [, id = "", output] = /^\/v1\/operations\/([^/]+)(\/outputs\/.*)?$/.exec(pathname) ?? [];
    const prompt = this.prompts.get(id) ?? "";
    if (request.method === "DELETE") {
      this.asked.add(`cancel ${prompt}`);
      return upstream(request);
    }
    if (output !== undefined) return this.#stops("download", prompt) ? never() : upstream(request);
    return this.#stops("poll", prompt) ? Response.json({ id, status: "running", progress: 10, poll_after_ms: 1000 }) : upstream(request);
  };

  /** Everything public: the receiver. */
  readonly receive = async (request: Request): Promise<Response> => {
    this.called.push(request.headers.get("webhook-id") ?? "");
    return new Response();
  };

  #stops(stop: Stop, prompt: string): boolean {
    this.asked.add(`${stop} ${prompt}`);
    return prompt.startsWith(stopped(stop, this.phase));
  }
}
