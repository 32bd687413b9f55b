/** One operation: a Durable Object that stores its record until its client erases it, for half an hour at most. */

import { DurableObject } from "cloudflare:workers";
import { LIFETIME_MS, type OperationRecord } from "./operations.ts";

export interface SandboxEnv {
  OPERATIONS: DurableObjectNamespace<OperationObject>;
}

const RECORD = "record";
const REFUSALS = "refusals";

export class OperationObject extends DurableObject<SandboxEnv> {
  /** Stores the record unless there is one already, and returns the stored one; "fault" if this submission should fail. */
  async create(record: OperationRecord): Promise<OperationRecord | "fault"> {
    if (!this.#read()) {
      this.ctx.storage.kv.put(RECORD, record);
      await this.ctx.storage.setAlarm(record.createdAt + LIFETIME_MS);
    }
    if (this.#takeFault("submission")) return "fault";
    return this.#read() ?? record;
  }

  /** The record for a status query; "fault" if this query should fail, undefined if the operation does not exist. */
  status(): OperationRecord | "fault" | undefined {
    return this.#takeFault("status") ? "fault" : this.#read();
  }

  /** The record for downloads, without faults. */
  record(): OperationRecord | undefined {
    return this.#read();
  }

  /** Deletes the record, and returns it. */
  async erase(): Promise<OperationRecord | undefined> {
    const record = this.#read();
    if (record) await this.ctx.storage.deleteAll();
    return record;
  }

  /** For a flaky chat, which has no record: true the first `times` times, then once false, and so on. */
  async refuseTimes(times: number): Promise<boolean> {
    const refusals = this.ctx.storage.kv.get<number>(REFUSALS) ?? 0;
    if (refusals >= times) {
      await this.ctx.storage.deleteAll();
      return false;
    }
    this.ctx.storage.kv.put(REFUSALS, refusals + 1);
    await this.ctx.storage.setAlarm(Date.now() + LIFETIME_MS);
    return true;
  }

  override async alarm(): Promise<void> {
    await this.ctx.storage.deleteAll();
  }

  #read(): OperationRecord | undefined {
    return this.ctx.storage.kv.get<OperationRecord>(RECORD);
  }

  #takeFault(fault: "submission" | "status"): boolean {
    const record = this.#read();
    if (!record?.faults.includes(fault)) return false;
    this.ctx.storage.kv.put(RECORD, { ...record, faults: record.faults.filter((other) => other !== fault) });
    return true;
  }
}
