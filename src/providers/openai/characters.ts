/** Characters by `/v1/videos/characters`: a clip and a name go in, an id comes back, which `POST /videos` takes beside the name in its prompt. */

import { readJson } from "../shared/http.ts";
import { postPieces } from "../shared/openai-body.ts";
import { refused } from "./errors.ts";
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
 * Makes a character. Its picture comes out of the clip, for the format gives none. There is no list to look in: what becomes
 * of a request without an answer stays unknown.
 */
export async function startCharacter(
  job: Job,
  media: MediaBinding,
  signal: AbortSignal,
  { base, headers }: Upstream,
): Promise<Succeeded | Failed> {
  const { outputs, character } = await makePortrait(job, media);
  const clip = await clipFor(job, media);
  if (signal.aborted) throw new ProviderError("start: too late", { retryable: true, nothingAccepted: true });
  const part = (name: string, more: string) => `--${job.key}\r\nContent-Disposition: form-data; name="${name}"${more}`;
  const response = await postPieces(
    `${base}/videos/characters`,
    { ...headers, "content-type": `multipart/form-data; boundary=${job.key}` },
    [
      part("name", `\r\n\r\n${character.displayName}\r\n`) + part("video", '; filename="clip.mp4"\r\nContent-Type: video/mp4\r\n\r\n'),
      clip,
      `\r\n--${job.key}--\r\n`,
    ],
    signal,
  );
  if (!response.ok) return refused(response, "start");
  const made = await readJson<WireCharacter>(response);
  if (typeof made?.id !== "string") throw new ProviderError("start: no id", { retryable: false });
  // Prompts have to name it as the upstream does.
  const named = [made.display_name, made.name].find((name) => typeof name === "string" && name !== "" && name.length <= 80);
  return { status: "succeeded", outputs, character: { ...character, ...(named && { displayName: named }), handle: made.id } };
}
