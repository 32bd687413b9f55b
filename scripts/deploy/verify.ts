/** Checks a deployed gateway like its callers and its operator use it: readiness, a test image, the first account. */

import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod/mini";
import { AdminClient } from "../support/admin-client.ts";
import { modelList, resultImages, taskAnswer } from "../support/api-answers.ts";
import { ApiClient } from "../support/api-client.ts";
import { parseJson, toReason } from "../support/faults.ts";
import type { Run } from "./run.ts";
import { Stop } from "./stop.ts";

/** A new host name needs time for DNS and its certificate. */
const readyDeadlineMs = 300_000;
const requestMs = 30_000;
const smokeDeadlineMs = 120_000;
/** The account of the test image: not a person's, and no address at which mail arrives. */
export const checkEmail = "deployment-check@gateway.invalid";
const checkKeyName = "deployment check";
const firstKeyName = "first key";
/** Balance units of the first account and of the key of the test image: enough to try everything, and a limit on misuse. */
export const firstQuota = 100;

const readyBody = z.object({ version: z.optional(z.string()) });

/** The admin API of a deployed gateway. */
export const openAdmin = (baseUrl: string, token: string): AdminClient =>
  new AdminClient(baseUrl, token, {
    refusal: () =>
      new Stop(
        "The gateway refused the ADMIN_TOKEN that is stored on this machine.",
        "Set ADMIN_TOKEN in the environment to the one that is set at the gateway.",
      ),
  });

/** Waits until `/readyz` of a gateway answers 200 from this version. Throws `Stop` with the last answer after five minutes. */
export async function waitUntilReady(
  gateway: string,
  baseUrl: string,
  version: string | undefined,
  signal: AbortSignal,
): Promise<undefined> {
  let last = "";
  for (const deadline = Date.now() + readyDeadlineMs; Date.now() < deadline; await sleep(1_000, undefined, { signal })) {
    try {
      const response = await fetch(`${baseUrl}/readyz`, { signal: AbortSignal.any([signal, AbortSignal.timeout(requestMs)]) });
      const text = await response.text();
      const answered = readyBody.safeParse(parseJson(text)).data?.version;
      if (response.ok && (version === undefined || answered === version)) return;
      last = response.ok
        ? `it answered from the version ${answered ?? "without a name"}, not from ${version}`
        : `it answered ${response.status}: ${text.slice(0, 300)}`;
    } catch (error) {
      signal.throwIfAborted();
      last = toReason(error);
    }
  }
  throw new Stop(
    `${baseUrl}/readyz did not answer 200 from the new version within five minutes; ${last}`,
    `Run the same command again; if it fails again, look at the gateway's log with \`npx wrangler tail ${gateway}\`. Behind a proxy set HTTPS_PROXY.`,
  );
}

/** The output of a first deployment for the operator. */
export interface Welcome {
  email: string;
  apiKey: string;
  invitation: string | undefined;
}

/** Creates the first account with its key and, if the console is deployed, an invitation for its owner. May be repeated until the result was shown. */
export async function welcome(admin: AdminClient, email: string, hasConsole: boolean): Promise<Welcome> {
  const { id } = await admin.operatorAccount(email, firstQuota);
  const { key: apiKey } = await admin.replaceKey(id, firstKeyName, null);
  return { email, apiKey, invitation: hasConsole ? await admin.invitation(id) : undefined };
}

/**
 * Makes an image with the sandbox and checks its file, with an account of its own and a key that is deleted afterwards. The account has no
 * limit, because each run charges it; its keys have one. The image is of a model that only the sandbox serves. Returns a line about the result.
 */
export async function smokeTest(run: Run, baseUrl: string, admin: AdminClient): Promise<string> {
  const { id } = await admin.account(checkEmail, null);
  const check = await admin.replaceKey(id, checkKeyName, firstQuota);
  run.hide(check.key);
  try {
    const api = new ApiClient(baseUrl, check.key);
    const list = (await api.ask(modelList, "/v1/models")).data;
    const charging = (await admin.soldModels()).filter(({ routes }) => routes.some(({ provider, on }) => on && provider !== "sandbox"));
    const model = list.find((one) => one.kind === "image" && !charging.some(({ id }) => id === one.id))?.id;
    if (model === undefined)
      return `${list.length} models are on offer; no image was made, for every image model is served by a provider that charges`;
    return await makeImage(api, model);
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
