/** `/v1/videos/characters` emulated: a clip and a name in a form. Directives are in the clip, because there is no prompt. */

import { type Context, Hono } from "hono";
import { Dropped, hasDirective, record } from "../emulator.ts";
import { fields, obey, Refusal } from "./fields.ts";

interface Character {
  id: string;
  name: string;
  created_at: number;
}

const made = new Map<string, Character>();

/** True if `{id}` is a character that was created here. */
export const hasCharacter = (value: unknown): boolean => {
  const { id, ...rest } = value as { id?: string };
  return id !== undefined && made.has(id) && Object.keys(rest).length === 0;
};

const misfit = () => new Refusal(400, "invalid_value", "Invalid video.", { param: "video" });

async function create(c: Context): Promise<Response> {
  if (!c.req.header("content-type")?.startsWith("multipart/form-data"))
    throw new Refusal(400, "unsupported_content_type", "Expected multipart/form-data.");
  const { name, video } = fields(await c.req.parseBody(), {
    name: { type: "string", required: true, maximum: 80 },
    video: { type: "file", required: true },
  }) as { name: string; video: File };
  const clip = new TextDecoder("latin1").decode(await video.arrayBuffer());
  if (video.type !== "video/mp4" || !video.name.endsWith(".mp4") || clip.slice(4, 8) !== "ftyp") throw misfit();
  record({ upstream: "openai", call: "character", prompt: clip.slice(0, 500), body: { name } });
  obey(clip, "");
  if (hasDirective(clip, "misfit")) throw misfit();
  if (hasDirective(clip, "moderated")) throw new Refusal(400, "moderation_blocked", "Your request was blocked by our moderation system.");
  const character = { id: `char_${crypto.randomUUID().replaceAll("-", "")}`, name, created_at: Math.floor(Date.now() / 1000) };
  made.set(character.id, character);
  if (hasDirective(clip, "drop")) throw new Dropped();
  if (hasDirective(clip, "accepted-500")) throw new Refusal(500, "server_error", "The server had an error.", { type: "server_error" });
  if (hasDirective(clip, "nothing")) return c.json({ object: "character" });
  if (!hasDirective(clip, "renamed")) return c.json(character);
  // The format in which services in front of the Sora app answer.
  const { id } = character;
  return c.json({ id, username: "mossy.teapot", display_name: "Mossy $& Teapot", profile_picture_url: "https://images.example/m.png" });
}

export const characters = new Hono().post("/", create).get("/:id", (c) => {
  const character = made.get(c.req.param("id"));
  if (!character) throw new Refusal(404, null, "Character not found.");
  return c.json(character);
});
