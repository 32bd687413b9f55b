/** The gateway's API as it is handed to the Workers behind its other paths: for callers who bring their own key. */

import { RpcTarget } from "cloudflare:workers";

/** Passed to a Worker with each request. It lends no trust: what is asked through it is answered as if the caller had asked. */
export class GatewayApi extends RpcTarget {
  readonly #answer: (request: Request) => Promise<Response>;

  /** `answer` is the gateway's own way with requests. */
  constructor(answer: (request: Request) => Promise<Response>) {
    super();
    this.#answer = answer;
  }

  /** Answers a request to the gateway's origin, with the `Authorization` that the request carries. */
  fetch(request: Request): Promise<Response> {
    return this.#answer(request);
  }
}

/** A Worker behind one of the gateway's paths. It has no address of its own. */
export interface WorkerBehind {
  /** Answers a request that came to the gateway, with the gateway's own API at hand. */
  open(request: Request, api: Pick<GatewayApi, "fetch">): Promise<Response>;
}
