/** Adapts prompts for upstreams. */

import type { GenerationRequest } from "../provider.ts";

type Prompted = Pick<GenerationRequest, "prompt" | "characters" | "style">;

/** Replaces each `@username` by the character's display name, for upstreams that do not have these characters. */
function replaceUsernames({ prompt, characters }: Prompted): string {
  let text = prompt;
  for (const { username, displayName } of characters)
    text = text.replace(new RegExp(`@${username.replaceAll(/[.\\-]/g, "\\$&")}(?![A-Za-z0-9_])`, "gi"), () => displayName);
  const [newest] = characters;
  return characters.length === 1 && newest ? text.replace(/@character(?![A-Za-z0-9_.-])/gi, () => newest.displayName) : text;
}

export const countCharacters = (text: string): number => Array.from(text).length;

/**
 * The prompt with the characters' display names, and the style as text, because no upstream has a field for it. A style that does not fit
 * into `maxCharacters` is dropped.
 */
export function toPrompt(request: Prompted, maxCharacters = Infinity): string {
  const prompt = replaceUsernames(request);
  if (request.style === undefined) return prompt;
  const styled = `${prompt}\n\nStyle: ${request.style}.`;
  return countCharacters(styled) > maxCharacters ? prompt : styled;
}

const wireRoles = { first_frame: "first_frame", last_frame: "last_frame", reference: "reference_image" };

/** The prompt and the images of a video as parts, for makers whose requests have both in one list; `urls` are in the order of `allImages`. */
export const toContent = (request: GenerationRequest, urls: readonly string[]): object[] => [
  { type: "text", text: toPrompt(request) },
  ...urls.map((url, at) => ({ type: "image_url", image_url: { url }, role: wireRoles[request.images[at]?.role ?? "reference"] })),
];
