/** The operations of a run about what the gateway calls: receivers of callbacks and buckets of callers, which may fail; and what they have at the end. */

import { expect, vi } from "vitest";
import { listFiles } from "../../src/tasks/files.ts";
import { type CompletedTask, isFinal, type Task } from "../../src/tasks/record.ts";
import { type Bucket, buckets, type Mode, origin, setDestination } from "../support/bucket.ts";
import type { Account } from "../support/gateway.ts";
import { setEndpoint, type Received } from "../support/receiver.ts";
import type { World } from "./world.ts";

const hook = "https://hooks.example.com/done";
/** Not those in which an attempt lasts until its time limit, which is in real time. */
const modes: readonly Mode[] = ["works", "works", "dead", "forbidden", "full", "moves", "changes", "mute", "write_only", "loses", "google"];

/** The internet of a run. */
export class Outside {
  readonly #world: World;
  readonly #bucket: Bucket;
  readonly #received: Received[];
  /** The accounts with a destination, and those with an endpoint. */
  readonly #shops = new Set<string>();
  readonly #endpoints = new Set<string>();

  private constructor(world: World) {
    this.#world = world;
    const { random } = world;
    const { at, received } = buckets([origin], { [hook]: () => new Response(null, { status: random.pick([204, 204, 500, 302, 410]) }) });
    this.#bucket = at[origin]!;
    this.#received = received;
  }

  static async open(world: World): Promise<Outside> {
    const { random, faultInjector } = world;
    const askStripe = vi.mocked(globalThis.fetch).getMockImplementation()!;
    const outside = new Outside(world);
    for (const account of world.accounts) {
      if (random.chance(0.5)) {
        expect((await setDestination(account)).status).toBe(200);
        outside.#shops.add(account.id);
      }
      if (random.chance(0.3)) {
        await setEndpoint(account, hook);
        outside.#endpoints.add(account.id);
      }
    }
    const ask = vi.mocked(globalThis.fetch).getMockImplementation()!;
    vi.spyOn(globalThis, "fetch").mockImplementation((...request) => {
      const [input] = request;
      const { host } = new URL(input instanceof Request ? input.url : input);
      if (host === "api.stripe.com") return askStripe(...request);
      if (!faultInjector.isOn) return ask(...request);
      return faultInjector.through({ name: `fetch ${host}`, failure: "Network connection lost.", effect: () => ask(...request) });
    });
    return outside;
  }

  /** Fields of a submission or a batch of this account. */
  fields({ id }: { id: string }): object {
    const { random } = this.#world;
    return {
      ...(this.#shops.has(id) && random.chance(0.5) && { deliver_to: { destination: "shop" } }),
      ...(random.chance(0.2) && { callback_url: hook }),
    };
  }

  /** The bucket works or fails from now on in another way. */
  change(): string {
    return (this.#bucket.mode = this.#world.random.pick(modes));
  }

  /** Everything works, so that deliveries end. */
  settle(): void {
    this.#bucket.mode = "works";
  }

  /** What was delivered is in the bucket, and each receiver was called about its tasks, with their ends. */
  async check(records: Map<string, Task>): Promise<void> {
    const calls = Map.groupBy(this.#received, ({ headers }) => headers["webhook-id"]!);
    for (const task of records.values()) {
      const label = this.#world.objects.ofTask(task.id)?.label;
      if (!isFinal(task) || task.isDeleted) continue;
      const { submission, callback, delivery, status } = task;
      const hasReceiver =
        (submission.callbackUrl !== undefined && !task.isBusy) || (!submission.batch && this.#endpoints.has(submission.accountId));
      if (hasReceiver) expect(callback, `${label} has a callback`).toBeDefined();
      const received = calls.get(task.id.replace("task_", "evt_")) ?? [];
      for (const { body } of received)
        expect(JSON.parse(body), label).toMatchObject({ type: `task.${status}`, data: { id: task.id, status } });
      if (callback?.state === "delivered" || callback?.state === "gone") expect(received.length, `calls about ${label}`).toBeGreaterThan(0);
      expect(delivery !== undefined, `${label} is delivered`).toBe(status === "completed" && submission.deliverTo !== undefined);
      if (delivery) expect(delivery, `the delivery of ${label} has ended`).not.toHaveProperty("step");
      if (task.status === "completed" && delivery?.state === "delivered") await this.#checkDelivered(task);
    }
  }

  async #checkDelivered({ id, result }: CompletedTask): Promise<void> {
    for (const { name, asset } of listFiles(result)) {
      const stored = this.#bucket.objects.get(`${id}/${name}`);
      const digest = await crypto.subtle.digest("SHA-256", stored?.bytes ?? new Uint8Array());
      expect(new Uint8Array(digest).toBase64({ alphabet: "base64url", omitPadding: true }), "a delivered file").toBe(asset.digest);
    }
  }
}

export const changeBucket = async ({ outside }: World): Promise<string> => outside.change();

/** Delivers the files of a task or a batch again, or calls its receiver again. */
export async function sendAgain(world: World): Promise<string> {
  const { random } = world;
  const batches = world.batches.filter(({ id }) => id !== undefined);
  if (batches.length > 0 && random.chance(0.3)) {
    const { account, id } = random.pick(batches);
    return `batch ${(await world.call(account, `/v1/batches/${id}/delivery`, { method: "POST" })).status}`;
  }
  if (world.accepted.size === 0) return "none";
  const { account, id } = random.pick([...world.accepted.values()]);
  const what = random.pick(["delivery", "callback"]);
  return `${what} ${(await world.call(account, `/v1/tasks/${id}/${what}`, { method: "POST" })).status}`;
}

/** Deletes a task, which only a final one can be. */
export async function remove(world: World): Promise<string> {
  const { random, batches, deletions } = world;
  const ofBatches = batches.flatMap(({ account, lines }) =>
    [...lines.values()].map((line) => ({ account, id: (JSON.parse(line) as { task?: string }).task })),
  );
  const tasks = [...world.accepted.values(), ...ofBatches.filter((one): one is { account: Account; id: string } => one.id !== undefined)];
  if (tasks.length === 0) return "none";
  const { account, id } = random.pick(tasks);
  const before = deletions.get(id);
  // It may be deleted although the answer is lost.
  deletions.set(id, before ?? Infinity);
  const { status } = await world.call(account, `/v1/tasks/${id}`, { method: "DELETE" });
  if (status === 204) deletions.set(id, Date.now());
  if (status === 409 && before === undefined) deletions.delete(id);
  return String(status);
}
