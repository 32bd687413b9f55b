/** `/v1/tokens`: creates client tokens, which can only submit and read a few tasks. */

import { type AppContext, hostName } from "../request/context.ts";
import { urlRules } from "../../config.ts";
import { charactersNamed, charactersWithIds } from "../../db/characters.ts";
import { filesWithIds } from "../../db/files.ts";
import { liveCatalog } from "../../current-catalog.ts";
import { ApiError, refuse, type Violation } from "../../base/errors.ts";
import { newClientToken, sha256Hex } from "../../base/ids.ts";
import { retry } from "../../base/retry.ts";
import { readFields } from "../request/body.ts";
import { answer } from "../request/answer.ts";
import { canonical } from "../request/key-scope.ts";
import { toMaxCost } from "../request/options.ts";
import { readReceiverUrl } from "../request/references.ts";
import { newToken } from "../schema/bodies.ts";

export async function createToken(c: AppContext): Promise<Response> {
  const { TOKENS } = c.env;
  const { accountId, keyHash } = c.get("caller");
  if (keyHash === undefined) throw new ApiError("key_scope");
  const catalog = await liveCatalog(c.env.DB);
  const readReceiver = (url: unknown) => readReceiverUrl("callback_url", url, urlRules(c.env, hostName(c)));
  const {
    tasks,
    max_cost: maxCost,
    expires_in: seconds,
    models,
    characters,
    files = [],
    callback_url: url,
    ...others
  } = await readFields(c, () => newToken(catalog), { check: (body) => readReceiver(body["callback_url"]).violations });
  const named = await findCharacters(c, characters ?? []);
  const known = files.length > 0 ? await filesWithIds(c.env.DB, c.get("caller"), files, Date.now()) : [];
  const unknown = files.flatMap((file, at): Violation[] =>
    known.some(({ id }) => id === file) ? [] : [{ param: `files[${at}]`, rule: "unknown_file" }],
  );
  refuse([...named.violations, ...unknown]);
  const expiresAt = 1000 * (Math.floor(Date.now() / 1000) + seconds);
  const id = TOKENS.newUniqueId();
  const token = newClientToken(id);
  const terms = {
    accountId,
    keyHash,
    tasks,
    maxCost: toMaxCost(maxCost),
    models: models && canonical(catalog, models),
    characters: characters && named.ids,
    ...(files.length > 0 && { files }),
    callbackUrl: readReceiver(url).url,
    ...others,
    expiresAt,
  };
  const hash = await sha256Hex(token);
  await retry("token", id.toString(), () => TOKENS.get(id).issue({ ...terms, hash }));
  return answer(c, { token, expires_at: expiresAt / 1000 }, 201, { "cache-control": "no-store" });
}

/** The ids of the account's characters with these ids or usernames. Unknown ones are violations. */
async function findCharacters(c: AppContext, given: string[]): Promise<{ ids: string[]; violations: Violation[] }> {
  if (given.length === 0) return { ids: [], violations: [] };
  const { accountId } = c.get("caller");
  const isId = (name: string) => name.startsWith("ch_");
  const names = given.map((name) => (isId(name) ? name : name.replace(/^@/, "").toLowerCase()));
  const [byId, byName] = await Promise.all([
    charactersWithIds(c.env.DB, accountId, names.filter(isId)),
    charactersNamed(c.env.DB, accountId, names),
  ]);
  const find = (name: string) => (isId(name) ? byId.find(({ id }) => id === name) : byName.find(({ username }) => username === name));
  return {
    ids: names.flatMap((name) => find(name)?.id ?? []),
    violations: names.flatMap((name, at) =>
      find(name) ? [] : [{ param: `characters[${at}]`, rule: "unknown_character", values: { name } }],
    ),
  };
}
