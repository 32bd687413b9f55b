/** The account's characters: their images and usernames, and deleting one. */

import type { ConsoleContext, ConsoleEnvironment } from "./context.ts";
import { Hono } from "hono";
import { characterById } from "../db/characters.ts";
import { type CharacterRow, readCharacters } from "./answers.ts";
import { page, signedIn, nothingHere } from "./frame.tsx";
import { askGateway } from "./gateway.ts";
import { withQuery } from "./list-address.ts";
import { Copy, DateTime, Empty, Link, Pager, Problem, Question, useAround } from "./parts/index.ts";
import { readChoices } from "./playground/choices.ts";
import { toPageStatus } from "./page-status.ts";

async function list(c: ConsoleContext) {
  const { t } = c.var;
  const after = c.req.query("after");
  const answer = await askGateway(c, withQuery("/v1/characters", { after }));
  if (!answer.ok) return page(c, t("characters"), <Problem text={t("failed")} />, toPageStatus(answer.status));
  const { data: found, has_more: hasMore } = await readCharacters(answer);
  const maker = (await readChoices(c)).find(({ action }) => action === "character");
  return page(
    c,
    t("characters"),
    <>
      {found.length === 0 && after === undefined ? (
        <Empty icon="face" title={t("no_characters")} text={t("no_characters_hint")}>
          <Link class="btn" href="/console/tasks?kind=video&status=completed" text={t("open_gallery")} />
        </Empty>
      ) : (
        <ul class="cols cards">
          {found.map((character) => (
            <Card {...character} />
          ))}
        </ul>
      )}
      <Pager
        first={after === undefined ? undefined : "/console/characters"}
        next={hasMore ? withQuery("/console/characters", { after: found.at(-1)?.id }) : undefined}
      />
    </>,
    200,
    {
      lead: t("characters_hint"),
      toast: c.req.query("deleted") === "yes" ? t("character_deleted") : undefined,
      actions: maker && (
        <Link class="btn primary" href={`/console/playground?model=${encodeURIComponent(maker.id)}`} icon="plus" text={t("new")} />
      ),
    },
  );
}

const Card = ({ id, username, display_name: name, profile_picture_url: image, model, created_at: createdAt }: CharacterRow) => {
  const { t } = useAround();
  return (
    <li id={id} class="card flush">
      <img class="face" src={image} alt="" width={320} height={240} loading="lazy" />
      <div class="stack tight padded">
        <h2>{name}</h2>
        <p class="row">
          <code id={`name-${id}`}>@{username}</code>
          <Copy of={`name-${id}`} label={t("copy_username", { username })} isIcon />
        </p>
        <p class="row between meta">
          <span>
            {model} · <DateTime ms={1000 * createdAt} />
          </span>
          <Link
            class="btn ghost sm danger"
            href={`/console/characters/${id}/delete`}
            aria-label={t("delete_named", { name })}
            text={t("delete")}
          />
        </p>
      </div>
    </li>
  );
};

export const characters = new Hono<ConsoleEnvironment>()
  .use(signedIn)
  .get("/", list)
  .get("/:id/delete", async (c) => {
    const { t } = c.var;
    const character = await characterById(c.env.DB, c.var.account.id, c.req.param("id"));
    if (!character) return nothingHere(c);
    const { displayName: name, username } = character;
    return page(
      c,
      t("delete_character", { name }),
      <Question text={t("delete_character_warning", { username })} yes={t("delete_named", { name })} back="/console/characters" />,
      200,
      { width: "slim" },
    );
  })
  .post("/:id/delete", async (c) => {
    const answer = await askGateway(c, `/v1/characters/${encodeURIComponent(c.req.param("id"))}`, { method: "DELETE" });
    if (answer.status === 404) return nothingHere(c);
    if (!answer.ok) return page(c, c.var.t("failed"), null, toPageStatus(answer.status));
    return c.redirect("/console/characters?deleted=yes", 303);
  });
