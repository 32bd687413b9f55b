/** The examples that several operations share: one image, one video and one character, from their submission to their end. */

export const ids = {
  image: "task_3FKqS2mV0bWmXv7oLz5R1AqY8tGd4nJ6cHu9eKpZx0E",
  video: "task_Vx81LmQ0sTzR4kWb7yHc2pNe5uJg9aDf3iKo6tXw8QA",
  character: "task_Cn52RtY8wQeU1iOp4aSdF7gHj0kLz3xMv6bNm9qWe2k",
  event: "evt_3FKqS2mV0bWmXv7oLz5R1AqY8tGd4nJ6cHu9eKpZx0E",
  madeCharacter: "ch_9f8e7d6c5b4aZYXWVUTSRQ",
  account: "acc_7d2e9c41BCDEFGHIJKLMNO",
  key: "key_51c0b7aaBCDEFGHIJKLMNO",
};

const base = "https://gateway.example";
const created = 1_795_305_600;
const ended = created + 14;
const expires = ended + 86_400;
const signed = `?expires=${expires}&digest=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU&signature=kQ1cV8sWm3xZr6tYb0nLpJ4hGf7dAe2uKi5oRq9wXzM`;

const urls = {
  image: `${base}/assets/${ids.image}/0-1.png${signed}`,
  video: `${base}/assets/${ids.video}/0-1.mp4${signed}`,
  thumbnail: `${base}/assets/${ids.video}/0-2.jpg${signed}`,
  character: `${base}/characters/${ids.madeCharacter}${signed}`,
};

/* Requests */

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

/* The tasks */

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
  result: { images: [{ url: [urls.image], expires_at: expires }] },
};
export const completedVideo = {
  ...video,
  ...final,
  metadata: videoMetadata,
  cost: { reserved: 1, charged: 1, returned: 0 },
  completed_at: ended,
  expires_at: expires,
  result: { videos: [{ url: [urls.video], thumbnail: urls.thumbnail, duration: 10, size: "1280x720", expires_at: expires }] },
};
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

/* Receipts */

const receipt = {
  object: "generation.receipt",
  id: ids.image,
  account: ids.account,
  kind: "image",
  model: "imgA-4",
  reference: "order-1042",
  status: "completed",
  created_at: created,
  started_at: created + 1,
  ended_at: ended,
  request_sha256: "5b0d1c8a4fe27b6390c1d5a8e7f2046b9d3c8e1fa7b60452d9c3e8f1706a4b2d",
  price: { unit: "USD", version: "8d2f4c1b7a90", amounts: { image: 0.03, image_hd: 0.06 } },
  reserved: 0.03,
  charged: 0.03,
  returned: 0,
  attempts: 1,
  files: [
    {
      name: "0-1.png",
      type: "image/png",
      bytes: 1_482_913,
      sha256: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    },
  ],
};
const signingKey = "4fT8kQz1mVbXw6yLsR2nJc9pHdGe3uAo7iKt5xZvW0E";
const jwsParts = [{ alg: "EdDSA", kid: signingKey }, receipt];
export const receiptAnswer = {
  receipt,
  jws: `${jwsParts.map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".")}.${"kQ1cV8sWm3xZr6tYb0nLpJ4hGf7dAe2uKi5oRq9wXzM".repeat(2)}`,
};
export const receiptKeys = {
  keys: [{ kty: "OKP", crv: "Ed25519", x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo", kid: signingKey, alg: "EdDSA", use: "sig" }],
};

/** A page of a list. */
export const page = (row: object, hasMore = false) => ({ object: "list", data: [row], has_more: hasMore });

/* Callbacks */

const timestamp = new Date(ended * 1000).toISOString();
export const completedEvent = { type: "task.completed", timestamp, data: completedVideo };
export const failedEvent = { type: "task.failed", timestamp, data: failedTask };
export const budgetEvent = {
  type: "budget.reached",
  timestamp,
  data: {
    object: "budget",
    key: { id: ids.key, name: "batch" },
    percent: 80,
    amount: 5,
    window: "day",
    spent: 4.02,
    ends_at: 1795392000,
  },
};
export const testEvent = { type: "test", timestamp, data: {} };
const attempts = [
  { at: ended, ms: 10_000, fault: "timeout" },
  { at: ended + 15, ms: 84, status: 204 },
];
export const callback = {
  object: "task.callback",
  task: ids.image,
  event: ids.event,
  url: "https://shop.example/hooks/videos",
  state: "delivered",
  attempts,
};
export const event = { id: ids.event, type: "task.completed", at: ended, task: ids.image };

/* Keys and accounts */

const quotas = { quota: 100, used: 1.08, reserved: 0.03, remaining: 98.89, budget: null };
export const account = {
  id: ids.account,
  email: "mara@shop.example",
  name: "Mara's shop",
  disabled: false,
  admin: false,
  created_at: created,
  ...quotas,
};
export const apiKey = {
  id: ids.key,
  account_id: ids.account,
  name: "shop",
  prefix: "sk-Ab12Cd34",
  created_at: created,
  expires_at: null,
  quota: null,
  used: 1.08,
  reserved: 0.03,
  remaining: null,
  budget: { amount: 10, window: "day", spent: 1.11, remaining: 8.89, ends_at: 1_795_392_000 },
  models: null,
  kinds: null,
  max_open_tasks: null,
};
const { account_id: _account, ...keyItself } = apiKey;
export const ownKey = {
  ...keyItself,
  object: "key",
  open_tasks: 1,
};
export const browserToken = { token: `st-${ids.image.slice("task_".length)}mQ8vZ2tYb0nLpJ4hGf7dAe2uKi5o`, expires_at: created + 600 };
