/** Prompts as upstreams read them. */

import type { GenerationRequest } from "../provider.ts";

/** The prompt with each character's display name in the place of its `@username`, for upstreams that know no such names. */
export function promptWithNames({ prompt, characters }: Pick<GenerationRequest, "prompt" | "characters">): string {
  let text = prompt;
  for (const { username, displayName } of characters)
    text = text.replace(new RegExp(`@${username.replaceAll(/[.\\-]/g, "\\$&")}(?![A-Za-z0-9_])`, "gi"), () => displayName);
  const [newest] = characters;
  return characters.length === 1 && newest ? text.replace(/@character(?![A-Za-z0-9_.-])/gi, () => newest.displayName) : text;
}
