/** OpenAI and upstreams with its format: chat, images, and videos and characters by `/v1/videos`. Checked against openai 7.55.0. */

import { chatAt } from "../shared/chat-at.ts";
import { startCharacter } from "./characters.ts";
import { type VideoOperation, videoStartMs, pollVideo, startVideo } from "./videos.ts";
import { unsupportedVideo } from "./video-request.ts";
import { openAiOutputs, outputsAt, startImage, unsupportedImage } from "./images.ts";
import { type Operation, type Provider, ProviderError } from "../provider.ts";
import { lookUp } from "../shared/listed.ts";
import type { Upstream } from "./upstream.ts";

const makersBase = "https://api.openai.com/v1";
/** An image task has 120 seconds in total; large images in high quality need most of them. */
const imageStartMs = 105_000;

/** The operation of images with URLs, or of a video. */
function read(operation: Operation | undefined): { images?: string[] } & Partial<VideoOperation> {
  try {
    return operation === undefined ? {} : JSON.parse(operation);
  } catch {
    return {};
  }
}

const parseVideoOperation = (operation: Operation | undefined) => {
  const video = read(operation);
  return video.id === undefined ? undefined : (video as VideoOperation);
};

/** `media` cuts the clip and the image of a character; without it characters are not supported. */
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
    // No endpoint accepts idempotency keys, and a video that is not in the list may appear a moment later.
    repeatable: false,
    answersWhenDone: ({ kind }) => kind === "image" || kind === "character",
    startTimeoutMs: (kind) => (kind === "image" ? imageStartMs : videoStartMs),
    reportsProgress: true,
    typicalSeconds: { character: 20 },

    unsupportedField(request) {
      switch (request.kind) {
        case "image":
          return unsupportedImage(request);
        case "video":
        case "remix":
          return unsupportedVideo(request, parseVideoOperation(request.sourceOperation), isMaker);
        case "character":
          return media ? undefined : "model";
        case "file":
          return "model";
      }
    },

    imageOutputs: openAiOutputs,

    async start(job, signal) {
      if (job.kind === "image") return startImage(job, signal, upstream);
      if (job.kind === "character") return startCharacter(job, media!, signal, upstream);
      return startVideo(job, parseVideoOperation(job.sourceOperation), signal, upstream);
    },

    async poll(operation) {
      const { images } = read(operation);
      if (images) return outputsAt(images);
      const video = parseVideoOperation(operation);
      if (!video) throw new ProviderError("unclear", "poll: the stored operation is not one of a video");
      return pollVideo(video, upstream);
    },

    // `shutdown_date` is a day, or null (developers.openai.com, "Deprecations"). Other services with this format need not list what they serve.
    ...(isMaker && {
      lookUpModel: (model) =>
        lookUp(`${base}/models/${encodeURIComponent(model)}`, upstream.headers, (entry: { shutdown_date?: unknown }) => ({
          end: entry.shutdown_date,
        })),
    }),

    chat: chatAt(base, upstream.headers),
  };
}
