/** Before work is accepted, checks every variable that it needs until its end: a wrong one found later would fail work whose price is reserved. */

import { chatFamilies } from "../../catalog/chat-families.ts";
import { listWrong } from "../../base/variables.ts";
import * as config from "../../config.ts";
import { isOn, providerNames } from "../../providers/index.ts";

type Read = (env: Env) => unknown;

/** Read for every submission and chat: at its admission, its price, its log lines and its budget alerts. */
const common: Read[] = [
  config.isLocal,
  config.lifeTimes,
  config.limitsRates,
  (env) => config.limitsRates(env) && [config.perMinute(env, "submission"), config.perMinute(env, "read")],
  config.balanceUnit,
  config.logsSteps,
  config.statusLogShare,
  config.keepsRequests,
  config.assetBaseUrl,
  config.allowsPrivateNetwork,
];

/** Read for one of the two, also by objects and consumers. The base URLs of providers are read with the routes of each model. */
const needed: Record<"task" | "chat", Read[]> = {
  task: [
    ...common,
    config.maxOpenTasks,
    config.proofDays,
    config.marks,
    config.visibleLabel,
    config.chargesCancelled,
    config.hedging,
    config.allowsCallbacks,
    config.signingSecret,
    config.sealingKey,
  ],
  chat: [...common, chatFamilies],
};

const checked = { task: new WeakSet<Env>(), chat: new WeakSet<Env>() };

/** Throws the error of the first wrong variable that a task or chat needs; checked once per isolate. */
export function requireVariables(env: Env, work: "task" | "chat"): void {
  if (checked[work].has(env)) return;
  for (const read of needed[work]) read(env);
  checked[work].add(env);
}

/** A message for each wrong variable of the gateway. Also read by `npm run deploy`, before it deploys. */
export function wrongVariables(env: Env): string[] {
  const addresses = providerNames.map(
    (name): Read =>
      (env) =>
        isOn(env, name),
  );
  // Uploads alone need `maxFileBytes`.
  return [...new Set(listWrong([...needed.task, ...needed.chat, config.maxFileBytes, ...addresses], env))];
}
