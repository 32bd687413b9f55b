/** An account, its key, and a token for a browser. */

import { created, ids } from "./common.ts";

const quotas = { quota: 100, used: 1.08, reserved: 0.03, remaining: 98.89, budget: null };
export const account = {
  id: ids.account,
  email: "mara@shop.example",
  name: "Mara's shop",
  disabled: false,
  restored: false,
  shortfall: 0,
  admin: false,
  created_at: created,
  ...quotas,
};
export const apiKey = {
  id: ids.key,
  account_id: ids.account,
  name: "shop",
  prefix: "sk-Ab12Cd34",
  created_at: created,
  expires_at: null,
  paused_at: null,
  quota: null,
  used: 1.08,
  reserved: 0.03,
  remaining: null,
  budget: { amount: 10, window: "day", spent: 1.11, remaining: 8.89, ends_at: 1_795_392_000 },
  models: null,
  kinds: null,
  max_open_tasks: null,
};
const { account_id: _account, ...keyItself } = apiKey;
export const ownKey = {
  ...keyItself,
  object: "key",
  open_tasks: 1,
};
export const clientToken = { token: `st-${ids.image.slice("task_".length)}mQ8vZ2tYb0nLpJ4hGf7dAe2uKi5o`, expires_at: created + 600 };
