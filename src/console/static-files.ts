/** The files that pages load: styles, scripts, fonts, drawings, samples. A name contains a hash of the content, so browsers may cache it forever. */

import { createHash } from "node:crypto";
import mono from "@fontsource-variable/geist-mono/files/geist-mono-latin-wght-normal.woff2";
import sans from "@fontsource-variable/inter/files/inter-latin-wght-normal.woff2";
import htmx from "htmx.org/dist/htmx.min.js";
import ownScript from "./client/console.js";
import countdown from "./client/countdown.js";
import landingScript from "./client/landing.js";
import galleryScript from "./client/gallery.js";
import lightboxScript from "./client/lightbox.js";
import passkeyScript from "./client/passkeys.js";
import attachScript from "./client/attach.js";
import chatScript from "./client/chat.js";
import conversationScript from "./client/conversation.js";
import entryScript from "./client/entry.js";
import eventsScript from "./client/events.js";
import paletteScript from "./client/palette.js";
import playgroundScript from "./client/playground.js";
import runsScript from "./client/runs.js";
import stillsScript from "./client/stills.js";
import verifyScript from "./client/verify.js";
import credentialsScript from "./client/credentials.js";
import manifestScript from "./client/manifest.js";
import sealScript from "./client/seal.js";
import trayScript from "./client/tray.js";
import art from "./files/art.svg";
import card from "./files/card.png";
import gate from "./files/gate.svg";
import icons from "./files/icons.svg";
import touch from "./files/touch.png";
import { media } from "./site/media.ts";
import { style } from "./styles/style.ts";

const types = {
  css: "text/css; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  svg: "image/svg+xml",
  woff2: "font/woff2",
  webp: "image/webp",
  png: "image/png",
  mp4: "video/mp4",
  vtt: "text/vtt; charset=utf-8",
};

interface StaticFile {
  body: string | ArrayBuffer;
  type: string;
  /** Name with hash, for example `console.4f1d2c9a.css`. */
  hashedName: string;
}

/** The files by their plain names; a function makes its text when it is first asked for. */
const contents = new Map<string, string | ArrayBuffer | (() => string)>(
  Object.entries({
    "inter.woff2": sans,
    "geist-mono.woff2": mono,
    "console.css": () => style(hashedPath),
    "htmx.js": htmx,
    "console.js": ownScript,
    "countdown.js": countdown,
    "landing.js": landingScript,
    "gallery.js": galleryScript,
    "lightbox.js": lightboxScript,
    "palette.js": paletteScript,
    "playground.js": playgroundScript,
    "runs.js": runsScript,
    "stills.js": stillsScript,
    "tray.js": trayScript,
    "entry.js": entryScript,
    "events.js": eventsScript,
    "verify.js": verifyScript,
    "credentials.js": credentialsScript,
    "manifest.js": manifestScript,
    "seal.js": sealScript,
    "chat.js": chatScript,
    "conversation.js": conversationScript,
    "attach.js": attachScript,
    "passkeys.js": passkeyScript,
    "icons.svg": icons,
    "gate.svg": gate,
    "art.svg": art,
    "card.png": card,
    "touch.png": touch,
    // What is heard in the sandbox's videos.
    "waves.vtt": "WEBVTT\n\n00:00.000 --> 00:04.000\n[A soft chord swells and fades]\n",
    ...media,
  }),
);

/** The files that were asked for. */
const files = new Map<string, StaticFile>();

/** A file by its plain name, hashed the first time; undefined for unknown names. */
function findFile(name: string): StaticFile | undefined {
  const known = files.get(name);
  const content = known ? undefined : contents.get(name);
  if (content === undefined) return known;
  const body = typeof content === "function" ? content() : content;
  const dot = name.lastIndexOf(".");
  const extension = name.slice(dot + 1) as keyof typeof types;
  const bytes = typeof body === "string" ? body : new Uint8Array(body);
  const hash = createHash("sha256").update(bytes).digest("hex").slice(0, 10);
  const file = { body, type: types[extension], hashedName: `${name.slice(0, dot)}.${hash}.${extension}` };
  files.set(name, file);
  return file;
}

/** The path of a file by its plain name. Throws for unknown names. */
export function hashedPath(name: string): string {
  const file = findFile(name);
  if (!file) throw new Error(`no static file ${name}`);
  return `/console/static/${file.hashedName}`;
}

const hashed = /^(.+)\.[0-9a-f]{10}(\.\w+)$/;

/** Answers a request for a file. A name with another hash is from another deployment: it gets the current file, which is not cached. */
export function staticFile(hashedName: string, range?: string): Response {
  const file = findFile(hashedName.replace(hashed, "$1$2"));
  if (!file || !hashed.test(hashedName)) return new Response("not found", { status: 404 });
  const headers = {
    "content-type": file.type,
    "cache-control": file.hashedName === hashedName ? "public, max-age=31536000, immutable" : "no-store",
  };
  return typeof file.body === "string" ? new Response(file.body, { headers }) : answerRange(file.body, range, headers);
}

/** The whole file, or the single requested range: Safari plays no video without range support. Other ranges get the whole file. */
function answerRange(bytes: ArrayBuffer, range: string | undefined, headers: Record<string, string>): Response {
  const size = bytes.byteLength;
  const [, from = "", to = ""] = /^bytes=(\d+)-(\d*)$/.exec(range ?? "") ?? [];
  const start = Number(from);
  const end = Math.min(to === "" ? size - 1 : Number(to), size - 1);
  if (from === "" || start > end) return new Response(bytes, { headers: { ...headers, "accept-ranges": "bytes" } });
  return new Response(bytes.slice(start, end + 1), {
    status: 206,
    headers: { ...headers, "accept-ranges": "bytes", "content-range": `bytes ${start}-${end}/${size}` },
  });
}
