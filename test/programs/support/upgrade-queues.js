/** The queues of the upgrade test: each message goes to the test, which delivers it at any time to any revision. */

import { WorkerEntrypoint } from "cloudflare:workers";

class Queue extends WorkerEntrypoint {
  async send(body) {
    await this.env.TEST.fetch("http://test/", { method: "POST", body: JSON.stringify({ queue: this.queue, body }) });
  }

  async sendBatch(messages) {
    for (const { body } of messages) await this.send(body);
  }
}

export class Dispatch extends Queue {
  queue = "gateway-dispatch";
}

export class Starts extends Queue {
  queue = "gateway-starts";
}

export class Notify extends Queue {
  queue = "gateway-notify";
}

export default {};
