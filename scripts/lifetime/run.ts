/** One lifetime of a deployment, decided by a seed: load, crashes, an upgrade, archive steps, a restored database, and a check of every unit at the end. */

import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { reconciliation } from "../support/api-answers.ts";
import { migrationNames } from "../support/migrations.ts";
import { root } from "../support/wrangler.ts";
import { MixedGateway, type Modules } from "../../test/programs/support/mixed-gateway.ts";
import { Random } from "../support/random.ts";
import { bundledModules, readReleased, type Released } from "../support/released.ts";
import { auditFaults, finalFaults, readEntries } from "./accounting.ts";
import { Callers } from "./callers.ts";

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
/** Wallet objects write the charges of the last 48 hours to a restored database again. */
const maxBackupAge = 40 * hour;
const maxTurns = 400;

export interface Revisions {
  released: Released;
  gateway: Modules;
  operations: Modules;
}

/** The bundles that a lifetime runs. */
export const buildRevisions = async (): Promise<Revisions> => ({
  released: await readReleased(),
  gateway: await bundledModules("wrangler.toml", "src/worker.ts"),
  operations: await bundledModules("src/operations/wrangler.toml", "worker.ts"),
});

/** The counts of a lifetime, for its report. */
export interface Lived {
  faults: string[];
  trace: string[];
  tasks: number;
  chats: number;
  archived: number;
}

/** Runs a seed. An error of the run contains its trace. */
export async function live(seed: number, revisions: Revisions): Promise<Lived> {
  const folder = await mkdtemp(join(tmpdir(), "gateway-lifetime-"));
  const lifetime = new Lifetime(seed, folder, revisions);
  try {
    return await lifetime.run();
  } catch (error) {
    throw new Error(`seed ${seed}: ${error instanceof Error ? error.message : String(error)}\n${lifetime.trace.join("\n")}`, {
      cause: error,
    });
  } finally {
    await lifetime.gateway.dispose();
    await rm(folder, { recursive: true, force: true });
  }
}

class Lifetime {
  readonly trace: string[] = [];
  readonly gateway: MixedGateway;
  /** Decides what happens to the deployment; the callers have their own, because what they draw depends on the processes' speed. */
  readonly #random: Random;
  readonly #folder: string;
  readonly #revisions: Revisions;
  readonly #callers: Callers;
  readonly #applied: string[] = [];
  #shiftMs = 0;

  constructor(seed: number, folder: string, revisions: Revisions) {
    this.#random = new Random(seed);
    this.#folder = folder;
    this.#revisions = revisions;
    this.gateway = new MixedGateway(folder, {
      upstream: (request) => this.#callers.upstream.answer(request),
      fetch: async () => new Response(),
      send: (message) => this.#callers.mail.push(message),
    });
    this.#callers = new Callers(new Random(-seed), this.gateway);
  }

  async run(): Promise<Lived> {
    const random = this.#random;
    const upgrade = random.int(1, 3);
    const isMixed = upgrade + random.int(1, 2);
    const last = isMixed + random.int(2, 3);
    const backup = random.int(0, last - 1);
    const restore = random.int(Math.max(upgrade, backup + 1), last);
    let backupAge = 0;
    let restored: string[] = [];
    for (let epoch = 0; epoch <= last; epoch++) {
      if (epoch > 0) {
        const isBetween = epoch > backup && epoch <= restore;
        const step = isBetween
          ? random.pick([5 * minute, 70 * minute, 7 * hour])
          : random.pick([70 * minute, 26 * hour, 8 * day, 10 * day]);
        backupAge += isBetween ? step : 0;
        this.#shiftMs += step;
        if (backupAge > maxBackupAge) throw new Error("the backup is too old");
      }
      const isOld = epoch < upgrade;
      const old = this.#revisions.released.modules;
      const current = this.#revisions.gateway;
      // Operators reconcile after a deployment: the gateway of the release before lacks what the new operations Worker asks it then.
      const [worker, objects] = isOld
        ? [old, old]
        : epoch < isMixed && epoch !== restore
          ? random.pick([
              [current, old],
              [old, current],
              [current, current],
            ])
          : [current, current];
      if (epoch === restore) {
        await this.#replaceDatabase("backup", "state");
        this.#applied.splice(0, Infinity, ...restored);
      }
      this.#note(
        `epoch ${epoch}: ${worker === old ? "released" : "current"} Worker, ${objects === old ? "released" : "current"} objects, ${this.#shiftMs / hour} h`,
      );
      await this.#start(worker, objects, !isOld);
      await this.#migrate(isOld);
      if (epoch === 0) await this.#callers.open(random.int(2, 3));
      if (epoch === restore) await this.#reconcile("restored");
      await this.#live(epoch, !isOld);
      this.#callers.gatewayEnds();
      await this.gateway.dispose();
      if (epoch === backup) {
        await this.#replaceDatabase("state", "backup");
        restored = [...this.#applied];
        this.#note("  backup");
      }
    }
    return this.#end(last + 1);
  }

  #note(line: string): void {
    this.trace.push(line);
  }

  async #start(worker: Modules, objects: Modules, withOperations: boolean): Promise<void> {
    const operations = withOperations ? this.#revisions.operations : undefined;
    await this.gateway.switchTo({ worker, objects, operations, shiftMs: this.#shiftMs, unsettledModel: "" });
  }

  /** The migrations that the database does not have yet: those of the release, or all. */
  async #migrate(isOld: boolean): Promise<void> {
    const { migrations } = this.#revisions.released;
    const all = await migrationNames(join(root, "migrations"));
    const missing = (isOld ? migrations : all).filter((name) => !this.#applied.includes(name));
    await this.gateway.migrate(missing);
    this.#applied.push(...missing);
    this.#note(`  ${missing.length} migrations`);
  }

  /** Copies the database of one state over that of another, while nothing runs. */
  async #replaceDatabase(from: "state" | "backup", to: "state" | "backup"): Promise<void> {
    const place = (state: string) => join(this.#folder, state, "d1");
    await rm(place(to), { recursive: true, force: true });
    await cp(place(from), place(to), { recursive: true });
  }

  /** Some minutes of load. At the end the processes are stopped without finishing their work. */
  async #live(epoch: number, withOperations: boolean): Promise<void> {
    const callers = this.#callers;
    callers.upstream.phase = epoch;
    await callers.wakeWallets();
    await callers.look();
    if (withOperations && this.#random.chance(0.7)) await this.#archive();
    await callers.submit(epoch);
    for (let turns = this.#random.int(0, 8); turns > 0; turns--) {
      callers.deliver();
      await callers.look();
      if (this.#random.chance(0.1)) await callers.cancelOne();
      if (this.#random.chance(0.1)) await callers.creditOne();
    }
    await callers.readReceipts();
    if (withOperations && this.#random.chance(0.3)) await this.#archive();
  }

  async #archive(): Promise<void> {
    await this.gateway.runCron();
    const [row] = await this.gateway.rows<{ entries: number }>("SELECT coalesce(sum(entries), 0) AS entries FROM archive_part");
    this.#note(`  cron: ${row?.entries} archived`);
  }

  async #reconcile(why: string): Promise<void> {
    for (let after: string | null = ""; after !== null;) {
      const path: string = `/reconcile${after && `?after=${after}`}`;
      const done = await this.#callers.admin.ask(reconciliation, "POST", path);
      this.#note(`  ${why}, reconciled: ${done.settled} settled, ${done.returned} returned, ${done.open} open`);
      after = done.after;
    }
    const faults = await auditFaults(this.#callers);
    if (faults.length > 0) throw new Error(`${why}: ${faults.join("; ")}`);
  }

  /** Without further load everything ends, and is archived. */
  async #end(epoch: number): Promise<Lived> {
    const callers = this.#callers;
    callers.upstream.phase = epoch + 2;
    // All deadlines have passed: work that crashes interrupted has ended by itself, or the reconciliation finds it.
    // To a wallet a moved clock is an absence: it releases the holds of chats five minutes after its return (`late-settlements.ts`).
    for (const step of [10 * minute, 2 * hour, 2 * hour, 5 * minute]) {
      this.#shiftMs += step;
      await this.#start(this.#revisions.gateway, this.#revisions.gateway, true);
      await callers.wakeWallets();
      for (let turn = 0; (callers.deliver(), await callers.look()) > 0 && turn < maxTurns; turn++) await sleep(5);
      await this.#reconcile("at the end");
      await callers.readReceipts();
    }
    const faults = (await finalFaults(this.gateway, callers)).map((fault) => `before the last archive step: ${fault}`);
    this.#shiftMs += 10 * day;
    await this.#start(this.#revisions.gateway, this.#revisions.gateway, true);
    await this.#archive();
    faults.push(...(await finalFaults(this.gateway, callers)), ...callers.history.faults);
    const { written, archived } = await readEntries(this.gateway);
    if (written.length > 0) faults.push(`${written.length} old entries are not archived`);
    return { faults, trace: this.trace, tasks: callers.history.tasks.size, chats: callers.chats.size, archived: archived.length };
  }
}
