/** Looks up the characters that a prompt mentions, among those of the account. */

import { charactersNamed, listCharacters } from "../db/characters.ts";
import { mentionsIn, newestCharacter } from "../catalog/mentions.ts";
import type { Violation } from "../errors.ts";
import type { Submission } from "../tasks/record.ts";

/** The characters that a prompt mentions; D1 is only queried if there are mentions. Unknown names are violations. */
export async function mentionedCharacters(
  env: Env,
  accountId: string,
  prompt: unknown,
): Promise<{ characters: Submission["characters"]; violations: Violation[] }> {
  const names = typeof prompt === "string" ? mentionsIn(prompt) : [];
  if (names.length === 0) return { characters: [], violations: [] };
  const db = env.DB;
  const [named, newest] = await Promise.all([
    charactersNamed(db, accountId, names),
    names.includes(newestCharacter) ? listCharacters(db, accountId, { limit: 1 }) : [],
  ]);
  const found = names.map((name) => ({
    name,
    character: named.find(({ username }) => username === name) ?? (name === newestCharacter ? newest[0] : undefined),
  }));
  // @character and a name may refer to the same one.
  const distinct = new Map(found.flatMap(({ character }) => (character ? [[character.id, character] as const] : [])));
  return {
    characters: [...distinct.values()].map(({ id, username, displayName, provider, handle }) => ({
      id,
      username,
      displayName,
      provider,
      handle,
    })),
    violations: found.flatMap(({ name, character }) =>
      character ? [] : [{ param: "prompt", rule: "unknown_character", values: { name } }],
    ),
  };
}
