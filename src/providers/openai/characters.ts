/** Characters by `/v1/videos/characters`: accepts a clip and a name, returns an id, which `POST /videos` needs in addition to the name in its prompt. */

import { ask, readJson } from "../shared/http.ts";
import { postPieces } from "../shared/streamed-body.ts";
import { readRefusal } from "./errors.ts";
import type { Upstream } from "./upstream.ts";
import { clipFor, makePortrait } from "../shared/portrait.ts";
import { type Failed, type Job, ProviderError, type Succeeded } from "../provider.ts";

/** `VideoCreateCharacterResponse` in openai 7.55.0; gateways in front of the Sora app answer `display_name`. */
interface WireCharacter {
  id?: string | null;
  name?: string | null;
  display_name?: string | null;
}

/**
 * Creates a character. Its image is cut from the clip, because the format returns none. Characters cannot be listed, so the outcome of a
 * request without an answer stays unknown.
 */
export async function startCharacter(
  job: Job,
  media: MediaBinding,
  signal: AbortSignal,
  { base, headers }: Upstream,
): Promise<Succeeded | Failed> {
  const { outputs, character } = await makePortrait(job, media);
  const clip = await clipFor(job, media);
  if (signal.aborted) throw new ProviderError("busy", "start: the start took too long before the clip was sent");
  const part = (name: string, more: string) => `--${job.key}\r\nContent-Disposition: form-data; name="${name}"${more}`;
  const response = await postPieces(
    (init) => ask(globalThis, `${base}/videos/characters`, init),
    [
      part("name", `\r\n\r\n${character.displayName}\r\n`) + part("video", '; filename="clip.mp4"\r\nContent-Type: video/mp4\r\n\r\n'),
      clip,
      `\r\n--${job.key}--\r\n`,
    ],
    { headers: { ...headers, "content-type": `multipart/form-data; boundary=${job.key}` }, signal },
  );
  if (!response.ok) return readRefusal(response, "start");
  const made = await readJson<WireCharacter>(response);
  if (typeof made?.id !== "string") throw new ProviderError("unclear", "start: the answer has no id");
  // Prompts must contain the upstream's name of the character.
  const named = [made.display_name, made.name].find((name) => typeof name === "string" && name !== "" && name.length <= 80);
  return { status: "succeeded", outputs, character: { ...character, ...(named && { displayName: named }), handle: made.id } };
}
