/** OpenAI and whoever speaks its format: chat, pictures, and films and characters by `/v1/videos`. Checked against openai 7.55.0. */

import { chatAt } from "./chat.ts";
import { startCharacter } from "./characters.ts";
import { type FilmOperation, filmStartMs, pollFilm, startFilm } from "./videos.ts";
import { unableFilm } from "./video-request.ts";
import { picturesAt, startPicture, unablePicture } from "./images.ts";
import { type Operation, type Provider, ProviderError } from "../provider.ts";
import type { Upstream } from "./upstream.ts";

const makersBase = "https://api.openai.com/v1";
/** A picture's task has 120 seconds in all; large ones in high quality take most of them. */
const pictureStartMs = 105_000;

/** The handle of pictures behind URLs, or of a film. */
function read(operation: Operation | undefined): { images?: string[] } & Partial<FilmOperation> {
  try {
    return operation === undefined ? {} : JSON.parse(operation);
  } catch {
    return {};
  }
}

const parseVideoOperation = (operation: Operation | undefined) => {
  const film = read(operation);
  return film.id === undefined ? undefined : (film as FilmOperation);
};

/** The maker's models that take `max_completion_tokens` and, those that reason, nothing else (openai 7.55.0, `max_tokens`). */
const takesCompletionTokens = /^(?:gpt-|chatgpt-|o\d)/;

function limitRenamed({ max_tokens: limit, ...body }: Record<string, unknown>): Record<string, unknown> {
  if (limit === undefined || !takesCompletionTokens.test(String(body["model"])))
    return { ...body, ...(limit !== undefined && { max_tokens: limit }) };
  return { max_completion_tokens: limit, ...body };
}

/** `media` cuts the clip that a character is taken from, and its picture: without it there are no characters. */
export function openai({
  key,
  base = makersBase,
  media,
}: {
  key: string;
  base?: string | undefined;
  media?: MediaBinding | undefined;
}): Provider {
  const upstream: Upstream = { base, headers: { authorization: `Bearer ${key}` } };
  const isMaker = new URL(base).origin === new URL(makersBase).origin;

  return {
    name: "openai",
    // Nothing here knows idempotency keys, and a film that is not in the list may be there a moment later.
    repeatable: false,
    startTimeoutMs: (kind) => (kind === "image" ? pictureStartMs : filmStartMs),
    reportsProgress: true,
    typicalSeconds: { character: 20 },

    unsupportedField(request) {
      switch (request.kind) {
        case "image":
          return unablePicture(request);
        case "video":
        case "remix":
          return unableFilm(request, parseVideoOperation(request.sourceOperation), isMaker);
        case "character":
          return media ? undefined : "model";
      }
    },

    async start(job, signal) {
      if (job.kind === "image") return startPicture(job, signal, upstream);
      if (job.kind === "character") return startCharacter(job, media!, signal, upstream);
      return startFilm(job, parseVideoOperation(job.sourceOperation), signal, upstream);
    },

    async poll(operation) {
      const { images } = read(operation);
      if (images) return picturesAt(images);
      const film = parseVideoOperation(operation);
      if (!film) throw new ProviderError("poll: not an operation", { retryable: false });
      return pollFilm(film, upstream);
    },

    chat: chatAt(base, upstream.headers, limitRenamed),
  };
}
