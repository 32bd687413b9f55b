/** The operations Worker: functions for the operator's API and the cron trigger. The gateway calls it over its binding; `objects` may be used until a call returns. */

import { WorkerEntrypoint } from "cloudflare:workers";
import { type Audit, audit } from "../db/audit.ts";
import { type LoggedRequest, type RequestPage, writeRequestPages, writeRequests } from "../db/request-pages.ts";
import { type Margin, type MarginGroup, readMargins } from "../db/margins.ts";
import type { Span } from "../db/usage.ts";
import type { GatewayState } from "./checks.ts";
import { deliverTest } from "./deliver.ts";
import type { Actor } from "../db/audit-log.ts";
import { continueErasures, erase } from "./erase.ts";
import { type ArchivedPlace, findArchived } from "../storage/archived-entries.ts";
import type { Objects } from "../rpc/objects.ts";
import type { Delivery, Reconciliation } from "../rpc/operations.ts";
import { type DraftEntry, fetchInputSchema, type MakerSettings, type SchemaFault, toDraftEntry } from "./maker-schemas.ts";
import { reconcile, type ReconcileOptions } from "./reconcile.ts";
import { runChecks } from "./run.ts";
import { withRotatedSecrets } from "../base/rotated-secrets.ts";
import { runUpkeep } from "./upkeep.ts";

export default class Operations extends WorkerEntrypoint<OperationsBindings> {
  /** Continues the audit, or audits one account; see `src/db/audit.ts`. */
  async audit(objects: Objects, accountId?: string): Promise<Audit> {
    return audit(this.env.DB, objects, accountId);
  }

  /** Reconciles one account, or the next ones of all; see `reconcile.ts`. */
  async reconcile(objects: Objects, which: ReconcileOptions): Promise<Reconciliation> {
    return reconcile(this.env, objects, which);
  }

  /** What the operator earned and paid; see `src/db/margins.ts`. */
  async margins(span: Span, group: MarginGroup): Promise<Margin[]> {
    return readMargins(this.env.DB, span, group);
  }

  /** Erases an account and its owner; see `erase.ts`. */
  async erase(objects: Objects, accountId: string, by?: Actor): Promise<"erased" | "continues" | "unknown"> {
    return erase(this.env, objects, accountId, by);
  }

  /** Stores callers' requests for the console. A gateway of the previous release passes the requests themselves. */
  async logRequests(logged: RequestPage[] | LoggedRequest[]): Promise<void> {
    const isPages = (list: typeof logged): list is RequestPage[] => list.every((one) => "entries" in one);
    await (isPages(logged) ? writeRequestPages(this.env.DB, logged) : writeRequests(this.env.DB, logged));
  }

  /** The position of an account's archived task. */
  async findArchived(accountId: string, taskId: string): Promise<ArchivedPlace | undefined> {
    return findArchived(this.env, accountId, taskId);
  }

  /** Sends a test alert, and returns how each receiver took it; see `deliver.ts`. */
  async testAlert(): Promise<Delivery[]> {
    return deliverTest(withRotatedSecrets(this.env));
  }

  /** A draft of an entry with the schema that a maker publishes; see `maker-schemas.ts`. `settings` are those of the gateway. */
  async draftModel(
    maker: string,
    model: string,
    given: { id?: string | undefined; kind?: string | undefined },
    settings: MakerSettings,
  ): Promise<DraftEntry | SchemaFault> {
    const found = await fetchInputSchema(maker, model, { settings });
    return "schema" in found ? toDraftEntry(maker, model, found.schema, given) : found;
  }

  /** One run of the checks, every five minutes. `proofDays`: the gateway's variable, if it is right. A gateway of an earlier version passes less. */
  async check(objects: Objects, { proofDays, ...gateway }: GatewayState & { proofDays?: number } = {}): Promise<void> {
    await runChecks(withRotatedSecrets(this.env), objects, gateway);
    await continueErasures(this.env, objects);
    await runUpkeep(this.env, objects, proofDays);
  }
}
