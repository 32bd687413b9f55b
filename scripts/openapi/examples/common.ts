/** Shared by the examples: ids, times, signed URLs, pages of lists. */

import { assetSeconds } from "../../../src/base/life-times.ts";

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
export const created = 1_795_305_600;
export const ended = created + 14;
export const expires = ended + assetSeconds;
const signed = `?expires=${expires}&digest=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU&signature=kQ1cV8sWm3xZr6tYb0nLpJ4hGf7dAe2uKi5oRq9wXzM`;

export const urls = {
  image: `${base}/assets/${ids.image}/0-1.png${signed}`,
  video: `${base}/assets/${ids.video}/0-1.mp4${signed}`,
  thumbnail: `${base}/assets/${ids.video}/0-2.jpg${signed}`,
  character: `${base}/characters/${ids.madeCharacter}${signed}`,
};

/** A page of a list. */
export const page = (row: object) => ({ object: "list", data: [row], has_more: false });
