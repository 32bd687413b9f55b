/** `videos/characters`: creates a character from an uploaded video, retrieves it, and adds characters to the prompts of videos. */

import { printable } from "../../base/printable.ts";
import type { AppContext } from "./context.ts";
import type { Character, Page } from "../client.ts";
import { builtInCatalog } from "../../catalog/catalog.ts";
import { readVideoFacts } from "../../media/mp4.ts";
import { resolveModel } from "./aliases.ts";
import { OpenAiError, refuse, refuseField, refuseLike } from "./errors.ts";
import { type Fields, isForm, readRange, sendForm } from "./form.ts";
import { maxBodyBytes } from "./turns.ts";
import { submitOnce, WorkFailed } from "./once.ts";
import { answerDryRun, awaitSubmitted, isDryRun, ownFields, withDryRun } from "./submission.ts";

/** The paths of submissions of videos and characters. */
export const submissions = "/v1/videos/generations";
/** OpenAI's default model. */
export const defaultModel = "sora-2";

/** A character in OpenAI's format. */
const toCharacter = (id: string, name: string, createdAt: number) => ({ id, created_at: createdAt, name });

/** Submits the video of a form, and answers with its character once that is created. */
export async function createCharacter(c: AppContext): Promise<Response> {
  if (!isForm(c)) throw refuseLike(c, 415, "unsupported_media_type", "bad_form");
  const task = await submitOnce(c, async (identify) => {
    const sent = await sendForm(c, {
      path: withDryRun(c, submissions),
      identify,
      isFile: (name) => name === "video",
      maxFileBytes: maxBodyBytes,
      async toRequest({ fields, files }) {
        const [file] = files;
        if (!file) throw refuseField(c, "video", "required");
        if (files.length > 1) throw refuseField(c, "video", "too_big_list", { maximum: 1 });
        const submission = encodeURIComponent(JSON.stringify(await toSubmission(c, fields, file.content)));
        return { headers: { "content-type": "video/mp4", "x-submission": submission }, body: file.content };
      },
    });
    return awaitSubmitted(c, sent).catch(blameVideo);
  });
  if (isDryRun(task)) return answerDryRun(c, task);
  const made = task.result?.data?.characters[0];
  if (!made || task.completed_at === undefined) throw new Error("the completed task of a character has no character in its result");
  return c.json(toCharacter(made.id, made.display_name, task.completed_at));
}

/** The video is the only input that a provider can find invalid, so the error names it. */
function blameVideo(error: unknown): never {
  if (!(error instanceof WorkFailed) || error.code !== "invalid_input") throw error;
  const { status, message, code } = error;
  throw new WorkFailed(status, message, { code, param: "video" });
}

/** The gateway creates a character from one to three seconds of a video; OpenAI uses a whole short video. */
const maxSeconds = 3;

/** Builds the submission of a character from a form's fields and the first seconds of the video. Throws 400. */
async function toSubmission(c: AppContext, fields: Fields, file: Uint8Array[]): Promise<object> {
  const { name, model: asked = defaultModel } = fields;
  if (name === undefined) throw refuseField(c, "name", "required");
  // The name is shown in forms and inserted into prompts, so it must be a single line of printable text.
  if (typeof name !== "string" || !printable(80).test(name) || name.trim() === "") throw refuseField(c, "name", "bad_name");
  const bytes = file.reduce((sum, piece) => sum + piece.length, 0);
  const facts = await readVideoFacts((offset, length) => Promise.resolve(readRange(file, offset, length)), bytes);
  if (!facts || facts.seconds < 1) throw refuseField(c, "video", "bad_video");
  const model = resolveModel(c.env, String(asked));
  const entry = builtInCatalog().named(model.model);
  if (entry && !entry.actions.character) throw refuseField(c, "model", "not_supported");
  return {
    model: model.model,
    name,
    timestamps: `0,${Math.floor(1000 * Math.min(facts.seconds, maxSeconds)) / 1000}`,
    bytes,
    ...(model.isAlias && { requested_model: model.asked }),
    ...ownFields(c, fields),
  };
}

/** The caller's characters, newest first; further pages are read only as needed. */
async function* readCharacters(c: AppContext): AsyncGenerator<Character> {
  for (let after = ""; ;) {
    const page = await c.var.gateway.read<Page<Character>>(`/v1/characters?limit=100${after && `&after=${encodeURIComponent(after)}`}`);
    yield* page.data;
    const last = page.data.at(-1);
    if (!page.has_more || !last) return;
    after = last.id;
  }
}

/** The caller's characters with these ids; ids that do not exist are missing. */
async function findCharacters(c: AppContext, ids: Set<string>): Promise<Map<string, Character>> {
  const found = new Map<string, Character>();
  for await (const character of readCharacters(c)) {
    if (ids.has(character.id)) found.set(character.id, character);
    if (found.size === ids.size) break;
  }
  return found;
}

export async function retrieveCharacter(c: AppContext): Promise<Response> {
  const id = c.req.param("id") ?? "";
  const character = (await findCharacters(c, new Set([id]))).get(id);
  if (!character) throw refuse(c, 404, "character_not_found", {}, { code: "not_found" });
  return c.json(toCharacter(id, character.display_name, character.created_at));
}

const maxCharacters = 10;

/**
 * Replaces `characters`, `[{id}]`, in a video's fields: adds each one's `@username` to the prompt, in place of the character's name or else
 * at the end. Throws 400.
 */
export async function withCharacters(c: AppContext, { characters, ...fields }: Fields): Promise<Fields> {
  if (characters === undefined) return fields;
  const ids = Array.isArray(characters) ? characters.map((one: { id?: unknown } | null) => one?.id) : [undefined];
  const wrong = ids.findIndex((id) => typeof id !== "string");
  if (wrong >= 0) throw refuseField(c, Array.isArray(characters) ? `characters[${wrong}]` : "characters", "not_supported");
  if (ids.length > maxCharacters) throw refuseField(c, "characters", "too_big_list", { maximum: maxCharacters });
  const found = await findCharacters(c, new Set(ids as string[]));
  let prompt = fields["prompt"];
  for (const [at, id] of (ids as string[]).entries()) {
    const character = found.get(id);
    if (!character)
      throw new OpenAiError(400, refuse(c, 400, "character_not_found").message, { param: `characters[${at}].id`, code: "not_found" });
    if (typeof prompt === "string") prompt = mention(prompt, character);
  }
  return { ...fields, ...(prompt !== undefined && { prompt }) };
}

function mention(prompt: string, { username, display_name: name }: Character): string {
  const own = `@${username}`;
  // The characters after the name must not become part of the username.
  const spelled = new RegExp(`(?<![\\p{L}\\p{N}_.+@-])${escape(name)}(?![\\p{L}\\p{N}_-]|\\.[A-Za-z0-9_])`, "giu");
  const mentioned = prompt.replace(spelled, () => own);
  return mentioned.toLowerCase().includes(own.toLowerCase()) ? mentioned : `${prompt} ${own}`;
}

const escape = (text: string) => text.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");
