/** A simulated time of operation: tasks that end day after day, and the archiver as run by the cron trigger. */

import { randomBytes } from "node:crypto";
import type { DatabaseSync } from "node:sqlite";
import { archive } from "../../src/operations/archive.ts";
import { checkArchive, sweepArchive } from "../../src/operations/archive-check.ts";
import { expire } from "../../src/operations/expire.ts";
import { openBucket } from "./bucket.ts";
import { openDatabase, measureSize, toBinding } from "./d1.ts";

const dayMs = 86_400_000;
/** Days between two checks of files: each reads five of them. */
const checkDays = 7;

export interface Plan {
  tasks: number;
  days: number;
  /** One in this many tasks is a chat; 0 for no chats. */
  chatEvery: number;
  accounts: number;
  /** Runs of the archiver in a day. */
  runsPerDay: number;
  /** The folder of the bucket. */
  folder: string;
  vars: Partial<Pick<OperationsBindings, "LEDGER_DAYS" | "LEDGER_MAX_MB">>;
  /** Sets the time that `Date.now` returns. */
  setTime: (ms: number) => void;
}

/** The state at the end of a day. */
export interface Day {
  day: number;
  /** All tasks until then. */
  tasks: number;
  /** Entries in D1, and the bytes of the database. */
  rows: number;
  bytes: number;
  /** Entries in the archive, the number of its files, and their bytes with replaced ones. */
  archived: number;
  files: number;
  fileBytes: number;
  damaged: string[];
}

export interface Simulation {
  /** The database of the run. */
  db: D1Database;
  bucket: R2Bucket;
  accounts: string[];
  days: AsyncGenerator<Day, void>;
}

/** Runs a plan, day by day. The first account has the most tasks, every tenth task has a reference, every seventh failed. */
export function simulate(plan: Plan, from: number): Simulation {
  const sqlite = openDatabase();
  sqlite.exec(`CREATE TEMP TABLE fresh (${columns.join()})`);
  const db = toBinding(sqlite);
  const { bucket, sums } = openBucket(plan.folder);
  const accounts = Array.from({ length: plan.accounts }, (_, at) => `acc_${String(at).padStart(22, "0")}`);
  for (const id of accounts) openAccount(sqlite, id, from);
  const env = { DB: db, ASSETS: bucket, ...plan.vars };
  async function* days(): AsyncGenerator<Day, void> {
    const perRun = plan.tasks / plan.days / plan.runsPerDay;
    const stepMs = dayMs / plan.runsPerDay;
    let written = 0;
    for (let day = 0; day < plan.days; day++) {
      let damaged: string[] = [];
      for (let run = 1; run <= plan.runsPerDay; run++) {
        const now = from + day * dayMs + run * stepMs;
        const until = Math.round(perRun * (day * plan.runsPerDay + run));
        write(sqlite, plan, accounts, { first: written, count: until - written, from: now - stepMs, to: now });
        written = until;
        plan.setTime(now);
        while ((await archive(env)) > 0);
        await sweepArchive(env, now);
        await expire(env, now);
      }
      if (day % checkDays === checkDays - 1) damaged = await checkArchive(env);
      const count = (sql: string) => Number(sqlite.prepare(sql).get()?.["n"]);
      const { files, bytes: fileBytes } = sums();
      yield {
        day: day + 1,
        tasks: written,
        rows: count("SELECT count(*) AS n FROM entry"),
        bytes: measureSize(sqlite),
        archived: count("SELECT coalesce(sum(entries), 0) AS n FROM archive_part"),
        files,
        fileBytes,
        damaged,
      };
    }
  }
  return { db, bucket, accounts, days: days() };
}

const toKey = (account: string) => account.replace("acc_", "key_");

function openAccount(sqlite: DatabaseSync, id: string, at: number): void {
  sqlite.prepare("INSERT INTO account (id, email, created_at) VALUES (?1, ?1, ?2)").run(id, at);
  sqlite.prepare("INSERT INTO wallet (id) VALUES (?1), (?2)").run(id, toKey(id));
  sqlite
    .prepare("INSERT INTO api_key (id, account_id, name, hash, prefix, created_at) VALUES (?1, ?2, 'key', ?1, '', ?3)")
    .run(toKey(id), id, at);
}

const perStatement = 5_000;

/** Writes settled entries with their sums, like wallet objects do, but more at a time. */
function write(
  sqlite: DatabaseSync,
  { chatEvery }: Pick<Plan, "chatEvery">,
  accounts: string[],
  { first, count, from, to }: { first: number; count: number; from: number; to: number },
): void {
  for (let done = 0; done < count; done += perStatement) {
    const rows = Array.from({ length: Math.min(perStatement, count - done) }, (_, at) =>
      toRow(chatEvery, accounts, first + done + at, from + ((to - from) * (done + at)) / count),
    );
    const values = JSON.stringify(rows);
    sqlite.exec("BEGIN");
    for (const sql of statements) sqlite.prepare(sql).run(sql.includes("?1") ? { "?1": values } : {});
    sqlite.exec("COMMIT");
  }
}

/** Task, account, key, kind, model, charge, outcome, submission, end, reference. */
function toRow(chatEvery: number, accounts: string[], at: number, time: number): (string | number | null)[] {
  const id = randomBytes(32).toString("base64url");
  const account = accounts[Math.floor(accounts.length * ((at * 0.618_034) % 1) ** 2)] ?? "";
  const isChat = chatEvery > 0 && at % chatEvery === chatEvery - 1;
  const [kind, model] = isChat ? ["chat", "textA-1"] : at % 3 === 0 ? ["video", "vidD-02"] : ["image", "imgA-4"];
  const submitted = Math.floor(time);
  const isFailed = at % 7 === 6;
  return [
    isChat ? `chatcmpl-${id.slice(0, 22)}` : `task_${id}`,
    account,
    toKey(account),
    kind,
    model,
    isFailed ? 0 : 30_000,
    isFailed ? "provider_error" : "completed",
    submitted,
    submitted + 4_000 + (at % 60_000),
    at % 10 === 0 ? `order ${at}` : null,
  ];
}

const columns = ["task_id", "account_id", "key_id", "kind", "model", "charged", "outcome", "at", "closed_at", "reference"];
const statements = [
  `INSERT INTO fresh SELECT ${columns.map((_, at) => `value ->> ${at}`).join()} FROM json_each(?1)`,
  `INSERT INTO entry (task_id, account_id, key_id, kind, model, held, charged, outcome, at, closed_at)
   SELECT task_id, account_id, key_id, kind, model, 30000, charged, outcome, at, closed_at FROM fresh`,
  `INSERT INTO task_reference (account_id, reference, at, task_id)
   SELECT account_id, reference, at, task_id FROM fresh WHERE reference IS NOT NULL`,
  `INSERT INTO spending
   SELECT account_id, at / ${dayMs} * ${dayMs}, model, key_id, sum(charged), sum(30000 - charged),
     sum(outcome = 'completed'), sum(outcome <> 'completed') FROM fresh GROUP BY 1, 2, 3, 4
   ON CONFLICT DO UPDATE SET charged = charged + excluded.charged, returned = returned + excluded.returned,
     completed = completed + excluded.completed, failed = failed + excluded.failed`,
  `UPDATE wallet SET used = used + d.charged FROM (
     SELECT id, sum(charged) AS charged FROM (SELECT account_id AS id, charged FROM fresh UNION ALL SELECT key_id, charged FROM fresh)
     GROUP BY 1) d WHERE wallet.id = d.id`,
  "DELETE FROM fresh",
];
