/** The available models for the public pages: from the gateway's own `/v1/models`, cached for a minute. */

import type { ConsoleContext } from "../context.ts";
import { alert } from "../../base/log.ts";
import { type Choice, readChoices } from "../playground/choices.ts";

/** The available routes change only with a deployment. */
const believedMs = 60_000;
let known: { choices: Choice[]; until: number } | undefined;

/** Every available model with its actions. Returns an empty list if the gateway does not answer: the rest of the page is still useful. */
export async function shownModels(c: ConsoleContext): Promise<Choice[]> {
  if (known && known.until > Date.now()) return known.choices;
  // The list needs no account: this name is used for the caller in the rate limit.
  c.set("caller", { accountId: "visitors", keyId: "visitors" });
  try {
    known = { choices: await readChoices(c), until: Date.now() + believedMs };
    return known.choices;
  } catch (error) {
    alert("console", { outcome: "models_unknown" }, error);
    return [];
  }
}
