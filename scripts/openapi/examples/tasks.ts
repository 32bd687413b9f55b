/** One image, one video and one character, from their submission to their end. */

import { created, ended, expires, ids, urls } from "./common.ts";

export const imageRequest = { model: "imgA-4", prompt: "A lighthouse at dawn", size: "16:9", reference: "order-1042" };
export const videoRequest = {
  model: "vidA-2",
  prompt: "Waves roll onto a beach at dusk",
  duration: 10,
  size: "16:9",
  metadata: { style: "anime", thumbnail: true },
  callback_url: "https://shop.example/hooks/videos",
};
export const characterRequest = { model: "vidA-2", from_task: ids.video, timestamps: "1,3" };
export const remixRequest = { model: "vidA-2", prompt: "The same beach in a storm", duration: 10 };

const imageMetadata = {
  kind: "image",
  prompt: imageRequest.prompt,
  size: "16:9",
  n: 1,
  quality: "standard",
  reserved: 0.03,
  reference: "order-1042",
};
const videoMetadata = {
  kind: "video",
  prompt: videoRequest.prompt,
  size: "16:9",
  duration: 10,
  style: "anime",
  watermark: false,
  thumbnail: true,
  reserved: 1,
};
const characterMetadata = { kind: "character", from_task: ids.video, timestamps: "1,3", reserved: 0.05 };

const task = (id: string, model: string) => ({ id, object: "generation.task", model });
const image = task(ids.image, "imgA-4");
const video = task(ids.video, "vidA-2");
const character = task(ids.character, "vidA-2");
const queued = { status: "queued", progress: 0, created_at: created };

export const imageSubmission = { ...image, ...queued, metadata: imageMetadata };
export const videoSubmission = { ...video, ...queued, metadata: videoMetadata };
export const characterSubmission = { ...character, ...queued, metadata: characterMetadata };
export const remixSubmission = {
  ...video,
  ...queued,
  metadata: { kind: "remix", prompt: remixRequest.prompt, size: "16:9", duration: 10, reserved: 1, source_task: ids.video },
};

const final = { status: "completed", progress: 100, created_at: created };
const madeCharacter = { id: ids.madeCharacter, display_name: "Mara", profile_picture_url: urls.character, username: "mara.4k" };
const characterResult = { type: "character", data: { characters: [madeCharacter] } };

export const runningTask = {
  ...image,
  status: "in_progress",
  progress: 40,
  created_at: created,
  estimated_time: 9,
  metadata: imageMetadata,
  reference: "order-1042",
  cost: { reserved: 0.03 },
};
export const completedImage = {
  ...image,
  ...final,
  metadata: imageMetadata,
  reference: "order-1042",
  cost: { reserved: 0.03, charged: 0.03, returned: 0 },
  completed_at: ended,
  expires_at: expires,
  result: { images: [{ url: [urls.image], credentials: "none", expires_at: expires }] },
};
const { reference: _, ...awaited } = completedImage;
/** The answer to a submission that waited. */
export const awaitedImage = awaited;
export const completedVideo = {
  ...video,
  ...final,
  metadata: videoMetadata,
  cost: { reserved: 1, charged: 1, returned: 0 },
  completed_at: ended,
  expires_at: expires,
  result: {
    videos: [{ url: [urls.video], credentials: "maker", thumbnail: urls.thumbnail, duration: 10, size: "1280x720", expires_at: expires }],
  },
};
const sha256 = "5c1d6f2a9b0e4d7c8f3a1b2c3d4e5f60718293a4b5c6d7e8f9010213243546a7";
const bucketUrl = `https://s3.eu-central-1.amazonaws.com/shop-media/videos/${ids.video}`;
export const delivered = {
  status: "delivered",
  files: [
    { name: "video.mp4", url: `${bucketUrl}/video.mp4`, sha256 },
    { name: "thumbnail.jpg", url: `${bucketUrl}/thumbnail.jpg`, sha256: sha256.replace("5c", "a0") },
  ],
  attempts: [
    { at: ended, ms: 212, status: 503, code: "SlowDown" },
    { at: ended + 5, ms: 1840, status: 200 },
  ],
};
export const undelivered = { status: "failed", files: [], attempts: [{ at: ended, ms: 180, status: 403, code: "AccessDenied" }] };
export const redelivered = { ...completedVideo, delivery: { ...undelivered, status: "pending" } };
export const failedTask = {
  ...image,
  status: "failed",
  progress: 40,
  created_at: created,
  metadata: imageMetadata,
  reference: "order-1042",
  cost: { reserved: 0.03, charged: 0, returned: 0.03 },
  error: { code: "provider_error", message: "The generation failed. Nothing was charged." },
};
export const cancelledTask = { ...failedTask, progress: 0, error: { code: "cancelled", message: "The task was cancelled." } };

/** The answer of the generic query. */
export const answered = (data: object & { error?: { message: string } }) => ({
  code: 200,
  data,
  ...(data.error && { message: data.error.message }),
});

const videoBasics = { id: ids.video, object: "video.generation" };
export const videoStatuses = {
  submitted: { ...videoBasics, status: "submitted", progress: 0, model: "vidA-2", created_at: created, estimated_time: 120 },
  completed: {
    ...videoBasics,
    status: "completed",
    progress: 100,
    model: "vidA-2",
    created_at: created,
    completed_at: ended,
    url: urls.video,
    thumbnail: urls.thumbnail,
    duration: 10,
    size: "1280x720",
    expires_at: expires,
  },
  failed: {
    ...videoBasics,
    status: "failed",
    progress: 35,
    model: "vidA-2",
    created_at: created,
    error: { message: "The content violates the content policy." },
  },
};
export const characterStatuses = {
  in_progress: { ...character, status: "in_progress", progress: 30, created_at: created, metadata: characterMetadata },
  completed: { ...character, ...final, completed_at: ended, result: characterResult, metadata: characterMetadata },
};

export const listedCharacter = { ...madeCharacter, object: "character", expires_at: expires, model: "vidA-2", created_at: ended };
