/** `npm run deploy -- --test-alert`: sends a test alert to every receiver of a deployment, and prints how each took it. */

import { findAccount } from "./account.ts";
import { openRun } from "./command.ts";
import type { DeployOptions } from "./options.ts";
import { checkServices } from "./preflight.ts";
import { adminTokenRemedy, knownAdminToken } from "./secrets.ts";
import { Stop } from "./stop.ts";
import { openAdmin } from "./verify.ts";

/** Throws `Stop` if there is no receiver, or one of them did not accept the alert. */
export async function testAlert(options: DeployOptions, environment: NodeJS.ProcessEnv, signal: AbortSignal): Promise<void> {
  const { name, folder, choices, values, run } = await openRun(options, environment, signal, true);
  await run.whole(async () => {
    if (choices.without?.includes("operations"))
      throw new Stop("The Worker operations is left out: there are no alerts.", "Bring it back with npm run deploy -- --without none.");
    const account = await findAccount(run, environment);
    const host = await checkServices(account, name, choices);
    const token = await knownAdminToken(folder, values);
    if (token === undefined) throw new Stop("ADMIN_TOKEN is not set on this machine.", adminTokenRemedy);
    run.hide(token);
    const receivers = await openAdmin(`https://${host}`, token).testAlert();
    for (const { receiver, delivered, reason } of receivers)
      run.print(`  ${delivered ? "✓" : "✗"} ${receiver}${reason === undefined ? "" : `: ${reason}`}`);
    if (receivers.length === 0)
      throw new Stop(
        "No receiver is configured: alerts are only in the log and on the admin page.",
        "Set ALERT_WEBHOOK and ALERT_SIGNING_SECRET, or ALERT_MAIL (docs/operations.md).",
      );
    const failed = receivers.filter(({ delivered }) => !delivered).map(({ receiver }) => receiver);
    if (failed.length > 0)
      throw new Stop(`The test alert was not accepted: ${failed.join(", ")}.`, "Correct it, and send the test alert again.");
  });
}
