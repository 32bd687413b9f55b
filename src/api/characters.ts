/** `/v1/characters`: the account's characters, and deleting one. */

import { signedUrl } from "../asset-urls.ts";
import { characterPicture, removeAssets } from "../assets.ts";
import { characterById, deleteCharacter, listCharacters } from "../db/characters.ts";
import { lifeTimes, signingSecret } from "../config.ts";
import { ApiError } from "../errors.ts";
import { admitted } from "./auth.ts";
import { answer, assetBase } from "./frame.ts";
import { requireRow, toList } from "./page.ts";
import { readQuery } from "./query.ts";
import { routing } from "./router.ts";
import { pageQuery } from "./schema/queries.ts";

export const characters = routing()
  .get("/", admitted("read"), async (c) => {
    const { accountId } = c.get("caller");
    const page = await readQuery(c, pageQuery);
    await requireRow(page.after, (id) => characterById(c.env.DB, accountId, id));
    const found = await listCharacters(c.env.DB, accountId, { ...page, limit: page.limit + 1 });
    const expiresAt = Date.now() + lifeTimes(c.env).assetMs;
    const data = await Promise.all(
      found.slice(0, page.limit).map(async (character) => ({
        id: character.id,
        object: "character",
        username: character.username,
        display_name: character.displayName,
        profile_picture_url: await signedUrl(
          assetBase(c),
          signingSecret(c.env),
          { key: characterPicture(character.id), digest: character.pictureDigest },
          expiresAt,
        ),
        expires_at: Math.floor(expiresAt / 1000),
        model: character.model,
        created_at: Math.floor(character.createdAt / 1000),
      })),
    );
    return answer(c, toList(data, found.length > page.limit));
  })
  .delete("/:id", admitted("read"), async (c) => {
    const { accountId } = c.get("caller");
    const id = c.req.param("id");
    const db = c.env.DB;
    if (!(await characterById(db, accountId, id))) throw new ApiError("not_found");
    // The image is deleted first: if the deletion is interrupted, a repeated request still finds the character.
    await removeAssets(c.env.ASSETS, [characterPicture(id)]);
    await deleteCharacter(db, accountId, id);
    return c.body(null, 204);
  });
