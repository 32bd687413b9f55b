/** The operations Worker: functions for the operator's API and the cron trigger. The gateway calls it over its binding. */

import { WorkerEntrypoint } from "cloudflare:workers";
import { type Audit, audit } from "../db/audit.ts";
import { type LoggedRequest, writeRequests } from "../db/requests.ts";
import type { Column, Span, Used } from "../db/usage.ts";
import { findArchived, referencedUsage } from "./archived-usage.ts";
import { continueErasures, erase } from "./erase.ts";
import type { ArchivedPlace, Objects, OperationsWorker, Reconciliation } from "./objects.ts";
import type { Owner } from "./focus.ts";
import { reconcile } from "./reconcile.ts";
import { runChecks } from "./run.ts";
import { runUpkeep } from "./upkeep.ts";
import { usage, type UsageRow, usageTable } from "./usage.ts";

export default class Operations extends WorkerEntrypoint<OperationsBindings> implements OperationsWorker {
  async audit(objects: Objects, accountId?: string): Promise<Audit> {
    return audit(this.env.DB, (id) => objects.auditWallet(id), accountId);
  }

  async reconcile(objects: Objects, which: { account?: string | undefined; after?: string | undefined }): Promise<Reconciliation> {
    return reconcile(this.env.DB, objects, which);
  }

  async erase(objects: Objects, accountId: string): Promise<"erased" | "continues" | "unknown"> {
    return erase(this.env, objects, accountId);
  }

  async logRequests(requests: LoggedRequest[]): Promise<void> {
    await writeRequests(this.env.DB, requests);
  }

  async usage(accountId: string, span: Span, group: Column, maxTasks: number): Promise<UsageRow[] | "too_many"> {
    return usage(this.env, accountId, span, group, maxTasks);
  }

  async usageTable(owner: Owner, span: Span, group: Column, maxTasks: number): Promise<{ csv: string } | "too_many"> {
    return usageTable(this.env, owner, span, group, maxTasks);
  }

  async referencedUsage(
    accountId: string,
    span: Span,
    columns: Exclude<Column, "reference">[],
    maxTasks: number,
  ): Promise<Used[] | "too_many"> {
    return referencedUsage(this.env, accountId, span, columns, maxTasks);
  }

  async findArchived(accountId: string, taskId: string): Promise<ArchivedPlace | undefined> {
    return findArchived(this.env, accountId, taskId);
  }

  async check(objects: Objects): Promise<void> {
    await runChecks(this.env, objects);
    await continueErasures(this.env, objects);
    await runUpkeep(this.env);
  }
}
