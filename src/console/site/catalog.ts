/** The models that can be asked for, as the public pages show them: from the gateway's own `/v1/models`, kept for a minute. */

import { alert } from "../../log.ts";
import type { ConsoleContext } from "../frame.tsx";
import { type Choice, readChoices } from "../playground/choices.ts";

/** What routes are usable changes with a deployment alone. */
const believedMs = 60_000;
let known: { choices: Choice[]; until: number } | undefined;

/** Every usable model and what it does. Returns an empty list if the gateway does not answer: the rest of the page is still useful. */
export async function shownModels(c: ConsoleContext): Promise<Choice[]> {
  if (known && known.until > Date.now()) return known.choices;
  // The models are everybody's: this name stands in for a caller's where reads are counted.
  c.set("caller", { accountId: "visitors", keyId: "visitors" });
  try {
    known = { choices: await readChoices(c), until: Date.now() + believedMs };
    return known.choices;
  } catch (error) {
    alert("console", { outcome: "models_unknown" }, error);
    return [];
  }
}
