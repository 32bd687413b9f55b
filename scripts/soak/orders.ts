/** What clients ask for: pictures, films, characters and remixes, some of which the sandbox is told to spoil. */

import { encode } from "fast-png";
import type { Random } from "../support/random.ts";
import type { Account, Journal, KnownTask, Kind, Order } from "./journal.ts";

const videos = "/v1/videos/generations";
/** Words that steer the sandbox, and how often each is said. */
const directives = [
  [68, ""],
  [12, "sandbox:flaky"],
  [6, "sandbox:fail"],
  [6, "sandbox:flag"],
  [3, "sandbox:reject"],
  [5, "sandbox:slow"],
] as const;
const shareWithKey = 0.6;
const shareWithInlineImage = 0.15;
const inlineSide = 16;

/** A film that can be remixed and have a character taken out of it. */
const isFilm = ({ order }: KnownTask) => order.body.model === "vidA-2" && order.kind !== "character";

/** A new order of this kind. Where there is no film yet to start from, it is one for a film. */
export function newOrder(kind: Kind, account: Account, journal: Journal, random: Random): Order {
  const number = journal.orders.length + 1;
  const films = journal.completed(account).filter(isFilm);
  const film = films.length > 0 ? random.pick(films).id : undefined;
  const idempotencyKey = random.chance(shareWithKey) ? `key-${number}` : undefined;
  const order = { account, idempotencyKey, state: "asked" as const };
  if (kind === "character" && film) {
    // Characters have no prompt: their range is the marker.
    const marker = `${(1 + number / 10_000).toFixed(4)},${(3 + number / 10_000).toFixed(4)}`;
    const body = { model: "vidA-2", from_task: film, timestamps: marker };
    return kept(journal, { ...order, kind, marker, path: videos, body });
  }
  const marker = `order-${number}`;
  const prompt = `${marker} ${random.weighted(directives)}`.trim();
  if (kind === "remix" && film) {
    const body = { model: "vidA-2", prompt, duration: 10 };
    return kept(journal, { ...order, kind, marker, path: `/v1/videos/${film}/remix`, body });
  }
  if (kind === "image") return kept(journal, { ...order, kind, marker, path: "/v1/images/generations", body: pictureBody(prompt, random) });
  return kept(journal, { ...order, kind: "video", marker, path: videos, body: filmBody(prompt, films.length === 0, random) });
}

/** The marker of the order that a task's record comes from. */
export const markerOf = ({ prompt, timestamps }: { prompt?: string | undefined; timestamps?: string | undefined }): string =>
  prompt?.split(" ")[0] ?? timestamps ?? "";

function pictureBody(prompt: string, random: Random): Order["body"] {
  const size = random.pick(["1:1", "16:9", "3:4"]);
  return {
    model: random.pick(["imgA-4", "imgB-4o-image", "imgC-3-pro-image-preview"]),
    prompt,
    size,
    n: random.chance(0.3) ? 2 : 1,
    ...(random.chance(shareWithInlineImage) && { images: [inlineImage(random)] }),
  };
}

function filmBody(prompt: string, needsFilm: boolean, random: Random): Order["body"] {
  if (needsFilm || random.chance(0.4)) return { model: "vidA-2", prompt, duration: 10, metadata: { thumbnail: random.chance(0.5) } };
  return random.chance(0.5) ? { model: "vidC-1-0-pro-fast", prompt, duration: 5 } : { model: "vidD-02", prompt, duration: 5 };
}

/** A small picture of one colour. */
function inlineImage(random: Random): string {
  const data = new Uint8Array(inlineSide * inlineSide * 3).fill(random.int(0, 255));
  const png = encode({ width: inlineSide, height: inlineSide, data, channels: 3, depth: 8 });
  return `data:image/png;base64,${Buffer.from(png).toString("base64")}`;
}

function kept(journal: Journal, order: Order): Order {
  journal.orders.push(order);
  return order;
}
