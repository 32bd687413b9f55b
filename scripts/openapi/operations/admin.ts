/** The operator's paths. */

import { account, accountList, audit, invitation, margins, reconciliation, testAlert } from "../../../src/api/schema/admin.ts";
import { accountChange, keyChange, newAccount, newKey } from "../../../src/api/schema/bodies.ts";
import { apiKey, apiKeyList, newApiKey } from "../../../src/api/schema/keys.ts";
import { accountsQuery, auditQuery, marginsQuery, reconcileQuery } from "../../../src/api/schema/queries.ts";
import { answer, json, operators } from "../definition.ts";
import * as example from "../examples/index.ts";

const accountAnswer = (description: string) => ({ description, content: json(account, { account: example.account }) });
const badQuota = { param: "quota", rule: "bad_amount" };

export const admin = operators({
  "POST /admin/accounts": {
    id: "createAccount",
    summary: "Create an account",
    body: { schema: newAccount(), examples: { account: { email: "mara@shop.example", name: "Mara's shop", quota: 100 } } },
    answers: { 201: accountAnswer("The account.") },
    errors: ["conflict"],
    violation: badQuota,
  },
  "GET /admin/accounts": {
    id: "listAccounts",
    summary: "List accounts",
    description: "In the order of their ids.",
    query: accountsQuery(),
    answers: { 200: answer("A page of accounts.", accountList, { accounts: example.page(example.account) }) },
  },
  "GET /admin/accounts/{account_id}": {
    id: "getAccount",
    summary: "Show an account",
    answers: { 200: accountAnswer("The account.") },
  },
  "PATCH /admin/accounts/{account_id}": {
    id: "changeAccount",
    summary: "Change an account",
    description:
      "`quota` sets the quota, `add` changes it by an amount; not both. The keys of a disabled account stop working within ten seconds.",
    body: { schema: accountChange(), examples: { add: { add: 50 }, disable: { disabled: true } } },
    answers: { 200: accountAnswer("The account as it is now.") },
    violation: { param: "quota", rule: "below_use" },
  },
  "DELETE /admin/accounts/{account_id}": {
    id: "eraseAccount",
    summary: "Erase an account and its owner",
    description:
      "Deletes keys, the user with sessions and logins, characters, files and records of tasks, and cancels open tasks. The ledger keeps amounts without names. This cannot be undone.",
    body: "none",
    answers: {
      202: { description: "The account is erased. The files and records of its tasks are deleted within the next minutes." },
      204: { description: "The account is erased." },
    },
  },
  "POST /admin/accounts/{account_id}/keys": {
    id: "createKey",
    summary: "Create an API key",
    description: "`models`, `kinds` and `max_open_tasks` narrow what it may be used for.",
    body: {
      schema: newKey(),
      examples: {
        unlimited: { name: "shop", quota: null },
        limited: { name: "batch", quota: 10 },
        narrowed: { name: "covers", quota: 10, models: ["imgA-4"], kinds: ["image"], max_open_tasks: 5 },
      },
    },
    answers: {
      201: answer("The key. Only this answer shows it.", newApiKey, {
        key: { ...example.apiKey, key: "sk-Ab12Cd34Ef56Gh78Ij90Kl12Mn34Op56Qr78St90Uv12W" },
      }),
    },
    errors: ["too_many_keys"],
    violation: badQuota,
  },
  "GET /admin/accounts/{account_id}/keys": {
    id: "listKeys",
    summary: "List an account's keys",
    answers: { 200: answer("All keys that are not deleted.", apiKeyList, { keys: example.page(example.apiKey) }) },
  },
  "POST /admin/accounts/{account_id}/invitations": {
    id: "inviteToAccount",
    summary: "Invite a user to an account",
    body: "none",
    answers: {
      201: answer("A link with which the user signs up.", invitation, {
        invitation: { url: "https://gateway.example/console/sign-up?invitation=Zk3mT8", expires_at: 1_795_910_400 },
      }),
    },
  },
  "PATCH /admin/keys/{key_id}": {
    id: "changeKey",
    summary: "Change an API key",
    description:
      "A field that is absent stays as it is; `null` removes a limit. A narrower scope takes effect within ten seconds. So does `paused`: the key is refused with 401 until it is resumed; running tasks finish.",
    body: {
      schema: keyChange(),
      examples: {
        narrow: { models: ["imgA-4"], max_open_tasks: 5 },
        widen: { models: null, max_open_tasks: null },
        pause: { paused: true },
      },
    },
    answers: { 200: answer("The key as it is now.", apiKey, { key: example.apiKey }) },
    violation: { param: "quota", rule: "below_use" },
  },
  "DELETE /admin/keys/{key_id}": {
    id: "deleteKey",
    summary: "Delete an API key",
    description: "Requests with the key are refused everywhere within ten seconds.",
    body: "none",
    answers: { 204: { description: "The key is deleted." } },
  },
  "GET /admin/audit": {
    id: "auditLedger",
    summary: "Compare balances with the ledger",
    description: "`drift` lists every account or key whose balance disagrees with the ledger; it is empty if all agree.",
    query: auditQuery(),
    answers: {
      200: answer("How much was compared, and what disagrees.", audit, {
        agreed: {
          accounts: 1,
          tasks_open: 1,
          reserved: 0.03,
          drift: [],
          progress: { complete: true, accounts_checked: 1, entries_checked: 8, account: null, started_at: 1_795_305_600 },
        },
      }),
    },
    violation: { param: "account", rule: "wrong_form" },
  },
  "GET /admin/margins": {
    id: "showMargins",
    summary: "Revenue, costs and margins",
    description:
      "By `model` (default), `route`, `account` or `day` of settlement, of the last 30 days or the days of `from` and `to`, at most 366. A task's revenue counts at the route that ended it, each attempt's cost at its own route. `format=csv` answers with the rows as a table. Costs are those of the routes' `cost`: callers never see them.",
    query: marginsQuery(),
    answers: {
      200: {
        description: "The margins, the highest revenue first, days in their order; and their sum.",
        headers: ["content-disposition"],
        content: {
          ...json(margins, {
            models: {
              object: "list",
              data: [{ model: "imgA-4", revenue: 3, cost: 2.1, margin: 0.9, completed: 100, failed: 2, uncosted: 0 }],
              total: { revenue: 3, cost: 2.1, margin: 0.9, completed: 100, failed: 2, uncosted: 0 },
            },
          }),
          "text/csv": {},
        },
      },
    },
    violation: { param: "to", rule: "before_from" },
  },
  "POST /admin/alerts/test": {
    id: "testAlert",
    summary: "Send a test alert",
    description: "Sends an alert of the name `test` to `ALERT_WEBHOOK` and `ALERT_MAIL`.",
    body: "none",
    answers: {
      200: answer("How each receiver took it.", testAlert, {
        refused: {
          object: "test_alert",
          receivers: [
            { receiver: "webhook", delivered: false, reason: "ALERT_WEBHOOK answered 404" },
            { receiver: "mail", delivered: true },
          ],
        },
      }),
    },
  },
  "POST /admin/reconcile": {
    id: "reconcile",
    summary: "Settle open entries again",
    description:
      "Asks the task of every open entry to settle again, returns reservations whose task is gone, returns the grants of wallets that lost their storage more than a day ago, and writes again what a restored database lacks. Accounts that lost changes of their access are listed in `restored`, and their keys are refused: `restored=replay` makes the changes again, `restored=accept` accepts the restored state. Erasures are always made again. One call does a part: repeat it with the answer's `after` until that is `null`.",
    query: reconcileQuery(),
    body: "none",
    answers: {
      200: answer("What this call did.", reconciliation, {
        all: { object: "reconciliation", accounts: 12, settled: 3, returned: 1, open: 2, restored: [], after: null },
      }),
    },
    violation: { param: "after", rule: "unknown_row" },
  },
});
