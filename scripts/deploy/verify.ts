/** Checks a deployed gateway like its callers and its operator use it: readiness, a test image, the first account. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod/mini";
import { account, accountList, apiKeyList, resultImages, invitation, modelList, newApiKey, taskAnswer } from "../support/api-answers.ts";
import { ApiClient } from "../support/api-client.ts";
import { root } from "../support/wrangler.ts";
import type { Configuration } from "./configuration.ts";
import type { Run } from "./run.ts";
import { Stop } from "./stop.ts";

/** A new host name needs time for DNS and its certificate. */
const readyDeadlineMs = 300_000;
const requestMs = 30_000;
const smokeDeadlineMs = 120_000;
const checkKeyName = "deployment check";
const firstKeyName = "first key";
/** Balance units of the first account: enough to try everything, and a limit on misuse. */
const firstQuota = 100;

/** Waits until `/readyz` of a gateway answers 200. Throws `Stop` with the last answer after five minutes. */
export async function waitUntilReady(gateway: string, baseUrl: string, signal: AbortSignal): Promise<undefined> {
  let last = "";
  for (const deadline = Date.now() + readyDeadlineMs; Date.now() < deadline; await sleep(1_000, undefined, { signal })) {
    try {
      const response = await fetch(`${baseUrl}/readyz`, { signal: AbortSignal.any([signal, AbortSignal.timeout(requestMs)]) });
      const text = await response.text();
      if (response.ok) return;
      last = `it answered ${response.status}: ${text.slice(0, 300)}`;
    } catch (error) {
      signal.throwIfAborted();
      last = error instanceof Error ? `${error.message}${error.cause instanceof Error ? ` (${error.cause.message})` : ""}` : String(error);
    }
  }
  throw new Stop(
    `${baseUrl}/readyz did not answer 200 within five minutes; ${last}`,
    `Run the same command again; if it fails again, look at the gateway's log with \`npx wrangler tail ${gateway}\`. Behind a proxy set HTTPS_PROXY.`,
  );
}

/** The admin API of a gateway. */
export class AdminClient {
  readonly #baseUrl: string;
  readonly #token: string;

  constructor(baseUrl: string, token: string) {
    this.#baseUrl = baseUrl;
    this.#token = token;
  }

  async #ask<T>(shape: z.ZodMiniType<T>, method: string, path: string, body?: object): Promise<T> {
    const response = await fetch(`${this.#baseUrl}/admin${path}`, {
      method,
      headers: { authorization: `Bearer ${this.#token}`, ...(body && { "content-type": "application/json" }) },
      ...(body && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(requestMs),
    });
    const text = await response.text();
    if (response.status === 401)
      throw new Stop(
        "The gateway refused the ADMIN_TOKEN that is stored on this machine.",
        "Set ADMIN_TOKEN in the environment to the one that is set at the gateway.",
      );
    if (!response.ok) throw new Error(`${method} /admin${path} answered ${response.status}: ${text.slice(0, 300)}`);
    return shape.parse(text === "" ? undefined : JSON.parse(text));
  }

  /** Finds the account of this address, or creates it, and gives it the admin role. */
  async operatorAccount(email: string): Promise<string> {
    const found = await this.#ask(accountList, "GET", `/accounts?email=${encodeURIComponent(email)}`);
    const { id, admin } = found.data[0] ?? (await this.#ask(account, "POST", "/accounts", { email, quota: firstQuota }));
    if (!admin) await this.#ask(z.unknown(), "PATCH", `/accounts/${id}`, { admin: true });
    return id;
  }

  /** Creates a key of this name, and deletes an earlier one of the same name, which was never shown. */
  async replaceKey(accountId: string, name: string): Promise<{ id: string; key: string }> {
    const { data } = await this.#ask(apiKeyList, "GET", `/accounts/${accountId}/keys`);
    for (const old of data.filter((one) => one.name === name)) await this.deleteKey(old.id);
    return this.#ask(newApiKey, "POST", `/accounts/${accountId}/keys`, { name, quota: null });
  }

  async deleteKey(id: string): Promise<void> {
    await this.#ask(z.unknown(), "DELETE", `/keys/${id}`);
  }

  /** A link with which the user of this account signs up. */
  async invitation(accountId: string): Promise<string> {
    return (await this.#ask(invitation, "POST", `/accounts/${accountId}/invitations`)).url;
  }
}

/** The output of a first deployment for the operator. */
export interface Welcome {
  email: string;
  apiKey: string;
  invitation: string | undefined;
}

/** Creates the first account with its key and, if the console is deployed, an invitation for its owner. May be repeated until the result was shown. */
export async function welcome(admin: AdminClient, email: string, hasConsole: boolean): Promise<Welcome> {
  const id = await admin.operatorAccount(email);
  const { key: apiKey } = await admin.replaceKey(id, firstKeyName);
  return { email, apiKey, invitation: hasConsole ? await admin.invitation(id) : undefined };
}

/**
 * Makes an image with the sandbox and checks its file, with a key that is deleted afterwards. `isFree` returns true for models that only
 * the sandbox serves. Returns a line about the result.
 */
export async function smokeTest(
  run: Run,
  baseUrl: string,
  admin: AdminClient,
  email: string,
  isFree: (model: string) => boolean,
): Promise<string> {
  const check = await admin.replaceKey(await admin.operatorAccount(email), checkKeyName);
  run.hide(check.key);
  try {
    const response = await fetch(`${baseUrl}/v1/models`, {
      headers: { authorization: `Bearer ${check.key}` },
      signal: AbortSignal.timeout(requestMs),
    });
    if (!response.ok) throw new Error(`GET /v1/models answered ${response.status}`);
    const list = modelList.parse(await response.json()).data;
    const model = list.find(({ id, kind }) => kind === "image" && isFree(id))?.id;
    if (model === undefined)
      return `${list.length} models are on offer; no image was made, for every image model is served by a provider that charges`;
    return await makeImage(new ApiClient(baseUrl, check.key), model);
  } finally {
    await admin.deleteKey(check.id);
  }
}

async function makeImage(api: ApiClient, model: string): Promise<string> {
  const { id } = await api.submit("/v1/images/generations", { model, prompt: "A lighthouse on the day of its opening", size: "1:1" });
  const status = await api.follow(`/v1/tasks/${id}`, taskAnswer, (answer) => answer.data, {
    withinMs: smokeDeadlineMs,
    onStatus: () => undefined,
  });
  const url = resultImages(status.result)[0]?.url[0] ?? "";
  const file = await api.download(url);
  // Imported only here: the readers of images and videos load longer than the whole preflight takes.
  const { digestFaults, pngFaults } = await import("../support/file-checks.ts");
  const faults = [...digestFaults(file), ...pngFaults(file, { width: 1024, height: 1024 })];
  if (faults.length > 0) throw new Error(`the image is not as it should be: ${faults.join("; ")}`);
  return `${model} made an image of ${Math.round(file.bytes.byteLength / 1024)} KB`;
}

/** True if an image of this model costs nothing: no active provider has a route for it. The operator's routes override the built-in ones. */
export function servedBySandboxAlone(gateway: Configuration, on: string[], values: Map<string, string>): (model: string) => boolean {
  const given = values.get("ROUTES");
  const own: unknown = given === undefined ? gateway.vars?.["ROUTES"] : JSON.parse(given);
  const builtIn = JSON.parse(readFileSync(join(root, "src/catalog/routes.txt"), "utf8")) as object;
  const routes = { ...builtIn, ...(own as object | undefined) } as Record<string, { provider: string }[]>;
  return (model) => !(routes[model] ?? []).some(({ provider }) => on.includes(provider));
}
