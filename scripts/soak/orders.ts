/** The clients' submissions: images, videos, characters and remixes, some with directives that make the sandbox fail. */

import { encode } from "fast-png";
import type { Random } from "./random.ts";
import type { Account, History, KnownTask, Kind, Order } from "./history.ts";

const videos = "/v1/videos/generations";
/** The sandbox's directives and their weights. */
const directives = { "": 68, "sandbox:flaky": 12, "sandbox:fail": 6, "sandbox:flag": 6, "sandbox:reject": 3, "sandbox:slow": 5 };
const shareWithKey = 0.6;
const shareWithInlineImage = 0.15;
const inlineSide = 16;

/** A video that can be remixed and that characters can be created from. */
const isVideo = ({ order }: KnownTask) => order.body.model === "vidA-2" && order.kind !== "character";

/** A new order of this kind. Without a source video it becomes an order for a video. */
export function newOrder(kind: Kind, account: Account, history: History, random: Random): Order {
  const number = history.orders.length + 1;
  const sources = history.completed(account).filter(isVideo);
  const source = sources.length > 0 ? random.pick(sources).id : undefined;
  const idempotencyKey = random.chance(shareWithKey) ? `key-${number}` : undefined;
  const order = { account, idempotencyKey, state: "asked" as const };
  if (kind === "character" && source) {
    // Characters have no prompt: their range is the marker.
    const marker = `${(1 + number / 10_000).toFixed(4)},${(3 + number / 10_000).toFixed(4)}`;
    const body = { model: "vidA-2", from_task: source, timestamps: marker };
    return recordOrder(history, { ...order, kind, marker, path: videos, body });
  }
  const marker = `order-${number}`;
  const prompt = `${marker} ${random.weighted(directives)}`.trim();
  if (kind === "remix" && source) {
    const body = { model: "vidA-2", prompt, duration: 10 };
    return recordOrder(history, { ...order, kind, marker, path: `/v1/videos/${source}/remix`, body });
  }
  if (kind === "image")
    return recordOrder(history, { ...order, kind, marker, path: "/v1/images/generations", body: imageBody(prompt, random) });
  return recordOrder(history, { ...order, kind: "video", marker, path: videos, body: videoBody(prompt, sources.length === 0, random) });
}

/** The marker of a task's order, from the task's record. */
export const readMarker = ({ prompt, timestamps }: { prompt?: string | undefined; timestamps?: string | undefined }): string =>
  prompt?.split(" ")[0] ?? timestamps ?? "";

function imageBody(prompt: string, random: Random): Order["body"] {
  const size = random.pick(["1:1", "16:9", "3:4"]);
  return {
    model: random.pick(["imgA-4", "imgB-4o-image", "imgC-3-pro-image-preview"]),
    prompt,
    size,
    n: random.chance(0.3) ? 2 : 1,
    ...(random.chance(shareWithInlineImage) && { images: [inlineImage(random)] }),
  };
}

function videoBody(prompt: string, needsVideo: boolean, random: Random): Order["body"] {
  if (needsVideo || random.chance(0.4)) return { model: "vidA-2", prompt, duration: 10, metadata: { thumbnail: random.chance(0.5) } };
  return random.chance(0.5) ? { model: "vidC-1-0-pro-fast", prompt, duration: 5 } : { model: "vidD-02", prompt, duration: 5 };
}

/** A small image of one colour. */
function inlineImage(random: Random): string {
  const data = new Uint8Array(inlineSide * inlineSide * 3).fill(Math.floor(random.between(0, 256)));
  const png = encode({ width: inlineSide, height: inlineSide, data, channels: 3, depth: 8 });
  return `data:image/png;base64,${Buffer.from(png).toString("base64")}`;
}

function recordOrder(history: History, order: Order): Order {
  history.orders.push(order);
  return order;
}
