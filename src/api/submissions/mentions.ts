/** Looks up the characters that a prompt mentions, among those of the account. */

import type { Caller } from "../../db/callers.ts";
import { type Character, charactersNamed, charactersWithIds, listCharacters } from "../../db/characters.ts";
import { mentionsIn, newestCharacter } from "../../catalog/mentions.ts";
import type { Violation } from "../../base/errors.ts";
import type { Submission } from "../../tasks/record.ts";

/**
 * The characters that a prompt mentions; D1 is only queried if there are mentions. Unknown names are violations. For a client token only the
 * characters that its key named exist: all other names have the same answer, and are not looked up.
 */
export async function mentionedCharacters(
  env: Env,
  { accountId, token }: Caller,
  prompt: unknown,
): Promise<{ characters: Submission["characters"]; violations: Violation[] }> {
  const names = typeof prompt === "string" ? mentionsIn(prompt) : [];
  if (names.length === 0) return { characters: [], violations: [] };
  const [named, newest] = token ? await findAllowed(env, accountId, token.characters) : await findNamed(env, accountId, names);
  const found = names.map((name) => ({
    name,
    character: named.findLast(({ username }) => username === name) ?? (name === newestCharacter ? newest : undefined),
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

type Found = [named: Character[], newest: Character | undefined];

async function findNamed({ DB }: Env, accountId: string, names: string[]): Promise<Found> {
  const [named, newest] = await Promise.all([
    charactersNamed(DB, accountId, names),
    names.includes(newestCharacter) ? listCharacters(DB, accountId, { limit: 1 }) : [],
  ]);
  return [named, newest[0]];
}

async function findAllowed({ DB }: Env, accountId: string, ids: string[]): Promise<Found> {
  const allowed = ids.length > 0 ? await charactersWithIds(DB, accountId, ids) : [];
  return [allowed, allowed.at(-1)];
}
