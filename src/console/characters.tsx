/** The account's characters: their pictures and user names, and forgetting one. */

import { Hono } from "hono";
import { characterById } from "../db/characters.ts";
import { askGateway, type ConsoleContext, type ConsoleEnvironment, page, signedIn } from "./frame.tsx";
import { Moment } from "./layout.tsx";

/** An element of `GET /v1/characters`. Its picture's address is signed anew with each answer. */
interface CharacterRow {
  id: string;
  username: string;
  display_name: string;
  profile_picture_url: string;
  model: string;
  created_at: number;
}

async function list(c: ConsoleContext) {
  const { say } = c.var;
  const after = c.req.query("after");
  const answer = await askGateway(c, `/v1/characters${after === undefined ? "" : `?after=${encodeURIComponent(after)}`}`);
  if (!answer.ok) return page(c, say("characters"), <p role="alert">{say("failed")}</p>, answer.status === 429 ? 429 : 500);
  const { data: found, has_more: hasMore } = await answer.json<{ data: CharacterRow[]; has_more: boolean }>();
  return page(
    c,
    say("characters"),
    <>
      <p>{say(found.length === 0 && after === undefined ? "no_characters" : "characters_hint")}</p>
      <ul class="gallery">
        {found.map(({ id, username, display_name: name, profile_picture_url: picture, model, created_at: createdAt }) => (
          <li id={id}>
            <article>
              <img class="preview" src={picture} alt="" loading="lazy" />
              <h2>{name}</h2>
              <p>
                <code id={`name-${id}`}>@{username}</code>{" "}
                <button
                  type="button"
                  class="outline small"
                  hidden
                  data-copy={`name-${id}`}
                  data-copied={say("copied")}
                  aria-label={say("copy_username", { username })}
                >
                  {say("copy")}
                </button>
              </p>
              <p>
                <small>
                  {model} · <Moment ms={1000 * createdAt} />
                </small>
              </p>
              <a href={`/console/characters/${id}/delete`} aria-label={say("delete_named", { name })}>
                {say("delete")}
              </a>
            </article>
          </li>
        ))}
      </ul>
      {(after !== undefined || hasMore) && (
        <p class="paging">
          {after !== undefined && <a href="/console/characters">{say("newest")}</a>}
          {hasMore && <a href={`/console/characters?after=${found.at(-1)!.id}`}>{say("older")}</a>}
        </p>
      )}
    </>,
  );
}

export const characters = new Hono<ConsoleEnvironment>()
  .use(signedIn)
  .get("/", list)
  .get("/:id/delete", async (c) => {
    const { say } = c.var;
    const character = await characterById(c.env.DB, c.get("account").id, c.req.param("id"));
    if (!character) return page(c, say("not_found"), null, 404);
    const { displayName: name, username } = character;
    return page(
      c,
      say("delete_character", { name }),
      <form method="post">
        <p>{say("delete_character_warning", { username })}</p>
        <button>{say("delete_named", { name })}</button>
        <a href="/console/characters" role="button" class="secondary">
          {say("cancel")}
        </a>
      </form>,
    );
  })
  .post("/:id/delete", async (c) => {
    const answer = await askGateway(c, `/v1/characters/${encodeURIComponent(c.req.param("id"))}`, { method: "DELETE" });
    if (answer.status === 404) return page(c, c.get("say")("not_found"), null, 404);
    if (!answer.ok) return page(c, c.get("say")("failed"), null, answer.status === 429 ? 429 : 500);
    return c.redirect("/console/characters", 303);
  });
