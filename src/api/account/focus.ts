/** Usage as a table with the columns of FOCUS 1.3, the FinOps Foundation's format for cost tools. CSV as in RFC 4180. */

import { toMonth } from "../../db/archive.ts";
import { toUnits } from "../../db/ledger.ts";
import type { Used } from "../../db/usage.ts";

/** The account of the usage, and the unit of its amounts. */
interface Owner {
  accountId: string;
  currency: string;
}

const dayMs = 86_400_000;

const time = (at: number) => new Date(at).toISOString().replace(".000Z", "Z");

/** The key is the resource, the account is a sub-account of the operator's bill; a reference is a tag. */
const columns: Record<string, (used: Used & { day: number }, owner: Owner) => string> = {
  BilledCost: ({ charged }) => String(toUnits(charged)),
  BillingCurrency: (_, { currency }) => currency,
  BillingPeriodStart: ({ day }) => time(toMonth(day)),
  BillingPeriodEnd: ({ day }) => time(toMonth(toMonth(day) + 32 * dayMs)),
  ChargePeriodStart: ({ day }) => time(day),
  ChargePeriodEnd: ({ day }) => time(day + dayMs),
  ChargeCategory: () => "Usage",
  ConsumedQuantity: ({ completed }) => String(completed),
  ConsumedUnit: () => "Requests",
  ServiceName: () => "Generation API",
  ServiceCategory: () => "AI and Machine Learning",
  SkuId: ({ model }) => model ?? "",
  ResourceId: ({ key }) => key ?? "",
  SubAccountId: (_, { accountId }) => accountId,
  Tags: ({ reference }) => JSON.stringify(typeof reference === "string" ? { reference } : {}),
};

const field = (text: string) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
const line = (fields: string[]) => `${fields.map(field).join(",")}\r\n`;

/** A header and a line for each day, model and key, and reference if it is grouped by that; lines without usage are left out. */
export function focusTable(rows: Used[], owner: Owner): string {
  const charges = rows.filter(({ charged, completed }) => charged > 0 || completed > 0);
  return (
    line(Object.keys(columns)) +
    charges.map((used) => line(Object.values(columns).map((text) => text({ ...used, day: used.day ?? 0 }, owner)))).join("")
  );
}
