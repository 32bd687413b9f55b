/** All messages of the console: one table for each section, each in four languages. */

import { assetSeconds, recordSeconds } from "../base/life-times.ts";
import { type Language, chooseLanguage, languages } from "../messages/language.ts";
import account from "./messages/account.ts";
import adminMargins from "./messages/admin-margins.ts";
import adminModels from "./messages/admin-models.ts";
import adminOperations from "./messages/admin-operations.ts";
import adminOverview from "./messages/admin-overview.ts";
import adminProviders from "./messages/admin-providers.ts";
import adminTasks from "./messages/admin-tasks.ts";
import admin from "./messages/admin.ts";
import auditLog from "./messages/audit-log.ts";
import batches from "./messages/batches.ts";
import billing from "./messages/billing.ts";
import budgets from "./messages/budgets.ts";
import chat from "./messages/chat.ts";
import characters from "./messages/characters.ts";
import common from "./messages/common.ts";
import gallery from "./messages/gallery.ts";
import keys from "./messages/keys.ts";
import logs from "./messages/logs.ts";
import members from "./messages/members.ts";
import models from "./messages/models.ts";
import overview from "./messages/overview.ts";
import playground from "./messages/playground.ts";
import search from "./messages/search.ts";
import signIn from "./messages/sign-in.ts";
import site from "./messages/site.ts";
import status from "./messages/status.ts";
import tasks from "./messages/tasks.ts";
import usage from "./messages/usage.ts";
import verify from "./messages/verify.ts";
import webhooks from "./messages/webhooks.ts";

type Part<Key extends string> = Record<Language, Record<Key, string>>;

/** A section's table; a message that lacks a language is a type error. */
const part = <Key extends string>(table: Part<Key>) => table;

/** All sections. Their messages share one namespace. */
export const parts = [
  part(common),
  part(signIn),
  part(search),
  part(overview),
  part(models),
  part(playground),
  part(tasks),
  part(gallery),
  part(webhooks),
  part(logs),
  part(batches),
  part(chat),
  part(characters),
  part(usage),
  part(keys),
  part(budgets),
  part(billing),
  part(account),
  part(admin),
  part(adminTasks),
  part(adminProviders),
  part(adminOperations),
  part(adminModels),
  part(adminMargins),
  part(adminOverview),
  part(site),
  part(status),
  part(verify),
  part(members),
  part(auditLog),
] as const;

type KeyOf<P> = P extends Part<infer Key> ? Key : never;
type Key = KeyOf<(typeof parts)[number]>;

/** The languages' own names. */
export const languageNames: Record<Language, string> = { en: "English", zh: "中文", ko: "한국어", ja: "日本語" };

const tables = Object.fromEntries(
  languages.map((language) => [language, Object.assign({}, ...parts.map((table) => table[language])) as Record<Key, string>]),
) as Record<Language, Record<Key, string>>;

export type Translate = (key: Key, values?: Record<string, string | number>) => string;

/** Names may have line breaks, by which they would become paragraphs and links of their own in an e-mail. */
const inOneLine = (value: string | number) => String(value).replace(/[\p{Cc}\u2028\u2029]+/gu, " ");

/** What every message may name: how long files and tasks are kept. */
const lifeTimes: Record<string, number> = { file_hours: assetSeconds / 3_600, task_days: recordSeconds / 86_400 };

/** Returns the function `t(key, values)` of a language, which fills `{placeholders}`. `{days|day|days}` is the first word for one, else the second. */
export const translator =
  (language: Language): Translate =>
  (key, values = {}) =>
    tables[language][key].replace(/\{(\w+)(?:\|(\w+)\|(\w+))?\}/g, (whole, name: string, one?: string, more?: string) => {
      const value = values[name] ?? lifeTimes[name];
      return one === undefined ? inOneLine(value ?? whole) : String(value) === "1" ? one : (more ?? "");
    });

export { type Language, chooseLanguage };
