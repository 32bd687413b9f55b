/** What clients ask for: images, sources, characters and remixes, some of which the sandbox is told to spoil. */

import { encode } from "fast-png";
import type { Dice } from "./dice.ts";
import type { Account, Journal, KnownTask, Kind, Order } from "./journal.ts";

const videos = "/v1/videos/generations";
/** Words that steer the sandbox, and how often each is said. */
const directives = { "": 68, "sandbox:flaky": 12, "sandbox:fail": 6, "sandbox:flag": 6, "sandbox:reject": 3, "sandbox:slow": 5 };
const shareWithKey = 0.6;
const shareWithInlineImage = 0.15;
const inlineSide = 16;

/** A video that can be remixed and have a character taken out of it. */
const isVideo = ({ order }: KnownTask) => order.body.model === "vidA-2" && order.kind !== "character";

/** A new order of this kind. Where there is no video yet to start from, it is one for a video. */
export function newOrder(kind: Kind, account: Account, journal: Journal, dice: Dice): Order {
  const number = journal.orders.length + 1;
  const sources = journal.completed(account).filter(isVideo);
  const source = sources.length > 0 ? dice.pick(sources).id : undefined;
  const idempotencyKey = dice.chance(shareWithKey) ? `key-${number}` : undefined;
  const order = { account, idempotencyKey, state: "asked" as const };
  if (kind === "character" && source) {
    // Characters have no prompt: their range is the marker.
    const marker = `${(1 + number / 10_000).toFixed(4)},${(3 + number / 10_000).toFixed(4)}`;
    const body = { model: "vidA-2", from_task: source, timestamps: marker };
    return kept(journal, { ...order, kind, marker, path: videos, body });
  }
  const marker = `order-${number}`;
  const prompt = `${marker} ${dice.weighted(directives)}`.trim();
  if (kind === "remix" && source) {
    const body = { model: "vidA-2", prompt, duration: 10 };
    return kept(journal, { ...order, kind, marker, path: `/v1/videos/${source}/remix`, body });
  }
  if (kind === "image") return kept(journal, { ...order, kind, marker, path: "/v1/images/generations", body: imageBody(prompt, dice) });
  return kept(journal, { ...order, kind: "video", marker, path: videos, body: videoBody(prompt, sources.length === 0, dice) });
}

/** The marker of the order that a task's record comes from. */
export const markerOf = ({ prompt, timestamps }: { prompt?: string | undefined; timestamps?: string | undefined }): string =>
  prompt?.split(" ")[0] ?? timestamps ?? "";

function imageBody(prompt: string, dice: Dice): Order["body"] {
  const size = dice.pick(["1:1", "16:9", "3:4"]);
  return {
    model: dice.pick(["imgA-4", "imgB-4o-image", "imgC-3-pro-image-preview"]),
    prompt,
    size,
    n: dice.chance(0.3) ? 2 : 1,
    ...(dice.chance(shareWithInlineImage) && { images: [inlineImage(dice)] }),
  };
}

function videoBody(prompt: string, needsVideo: boolean, dice: Dice): Order["body"] {
  if (needsVideo || dice.chance(0.4)) return { model: "vidA-2", prompt, duration: 10, metadata: { thumbnail: dice.chance(0.5) } };
  return dice.chance(0.5) ? { model: "vidC-1-0-pro-fast", prompt, duration: 5 } : { model: "vidD-02", prompt, duration: 5 };
}

/** A small image of one colour. */
function inlineImage(dice: Dice): string {
  const data = new Uint8Array(inlineSide * inlineSide * 3).fill(Math.floor(dice.between(0, 256)));
  const png = encode({ width: inlineSide, height: inlineSide, data, channels: 3, depth: 8 });
  return `data:image/png;base64,${Buffer.from(png).toString("base64")}`;
}

function kept(journal: Journal, order: Order): Order {
  journal.orders.push(order);
  return order;
}
