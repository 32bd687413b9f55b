/** `/v1/characters`: the account's characters, and deleting one. */

import { signedUrl } from "../../signing/asset-urls.ts";
import { characterPicture, removeAssets } from "../../storage/assets.ts";
import * as characters from "../../db/characters.ts";
import { lifeTimes, signingSecret } from "../../config.ts";
import { ApiError } from "../../base/errors.ts";
import { toSeconds } from "../../base/times.ts";
import { answer, respond } from "../request/answer.ts";
import { type AppContext, assetBase } from "../request/context.ts";
import { readQuery, requireRow, toList } from "../request/query.ts";
import { pageQuery } from "../schema/queries.ts";

export async function listCharacters(c: AppContext): Promise<Response> {
  const { accountId } = c.get("caller");
  const page = readQuery(c, pageQuery);
  await requireRow(page.after, (id) => characters.hadCharacter(c.env.DB, accountId, id));
  const found = await characters.listCharacters(c.env.DB, accountId, { ...page, limit: page.limit + 1 });
  const expiresAt = Date.now() + lifeTimes(c.env).assetMs;
  const toUrl = ({ id, pictureDigest: digest }: characters.Character) =>
    signedUrl(assetBase(c), signingSecret(c.env), { key: characterPicture(id), digest }, expiresAt);
  const data = await Promise.all(
    found.slice(0, page.limit).map(async (character) => ({
      id: character.id,
      object: "character",
      username: character.username,
      display_name: character.displayName,
      profile_picture_url: await toUrl(character),
      expires_at: toSeconds(expiresAt),
      model: character.model,
      created_at: toSeconds(character.createdAt),
    })),
  );
  return answer(c, toList(data, found.length > page.limit));
}

export async function deleteCharacter(c: AppContext, id: string): Promise<Response> {
  const { accountId } = c.get("caller");
  const db = c.env.DB;
  if (!(await characters.characterById(db, accountId, id))) throw new ApiError("character_not_found");
  // The image is deleted first: if the deletion is interrupted, a repeated request still finds the character.
  await removeAssets(c.env.ASSETS, [characterPicture(id)]);
  await characters.deleteCharacter(db, accountId, id);
  return respond(c, null, 204);
}
