/** The floor: only the platform operations that a status query and a submission need, each behind a bare Hono route. */

/// <reference types="@cloudflare/workers-types" />

import { DurableObject } from "cloudflare:workers";
import { Hono } from "hono";

interface FloorEnv {
  DISPATCH: Queue<{ taskId: string }>;
  RECORDS: DurableObjectNamespace<RecordObject>;
  MONEY: DurableObjectNamespace<MoneyObject>;
}

type Body = Record<string, string | number>;

/** An answer of the same length as the gateway's. */
interface Answer {
  id: string;
  object: string;
  model: string;
  status: string;
  progress: number;
  created_at: number;
  metadata: Body;
}

export class RecordObject extends DurableObject<FloorEnv> {
  #record: Answer | undefined;
  readonly #account = "account";

  constructor(ctx: DurableObjectState, env: FloorEnv) {
    super(ctx, env);
    this.#record = ctx.storage.kv.get<Answer>("record");
  }

  /** Readable by its owner only, like every record. */
  read(account: string): Answer | undefined {
    return account === this.#account ? this.#record : undefined;
  }

  /** Record and alarm, money in another object, record, message: a submission's operations in the gateway's order. */
  async create(body: Body): Promise<Answer> {
    const id = this.ctx.id.toString();
    const now = Date.now();
    const record = {
      id,
      object: "generation.task",
      model: String(body["model"]),
      status: "queued",
      progress: 0,
      created_at: now,
      metadata: { kind: "image", ...body },
    };
    this.ctx.storage.kv.put("record", record);
    void this.ctx.storage.setAlarm(now + 30_000);
    await this.env.MONEY.getByName("account").hold({ taskId: id, model: record.model, amount: 30_000, at: now });
    this.#record = { ...record, status: "in_progress" };
    this.ctx.storage.kv.put("record", this.#record);
    await this.env.DISPATCH.send({ taskId: id });
    return this.#record;
  }

  override async alarm(): Promise<void> {}
}

/** One object for all money: a row for each hold. */
export class MoneyObject extends DurableObject<FloorEnv> {
  #count = 0;

  async hold(hold: Body): Promise<void> {
    this.ctx.storage.kv.put(`hold/${++this.#count}`, hold);
  }
}

const app = new Hono<{ Bindings: FloorEnv }>()
  .get("/records/:id", async (c) => {
    const { RECORDS } = c.env;
    return c.json(await RECORDS.get(RECORDS.idFromString(c.req.param("id"))).read("account"));
  })
  .post("/records", async (c) => {
    const body = await c.req.json<Body>();
    const { RECORDS } = c.env;
    return c.json(await RECORDS.get(RECORDS.newUniqueId()).create(body));
  });

export default app;
