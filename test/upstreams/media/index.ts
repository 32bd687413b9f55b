/**
 * The platform's media binding, which works only far away: a Worker that answers as it does. Films that say "silent" have no sound,
 * those that say "uncut" cannot be cut just now. What is cut says where.
 */

import { picture } from "../files.ts";

const script = `
import { RpcTarget, WorkerEntrypoint } from "cloudflare:workers";

class Film extends RpcTarget {
  constructor(film, picture) { super(); this.film = film; this.picture = picture; }
  output(options) { return new Result(this.film, this.picture, options); }
}

class Result extends RpcTarget {
  constructor(film, picture, options) { super(); Object.assign(this, { film, picture, options }); }
  async response() {
    const { mode, time, duration } = this.options;
    const bytes = new Uint8Array(await new Response(this.film).arrayBuffer());
    const text = new TextDecoder("latin1").decode(bytes);
    if (!/^\\d+(\\.\\d+)?s$/.test(time)) return new Response("bad time", { status: 400 });
    if (text.slice(4, 8) !== "ftyp") return new Response("no film", { status: 415 });
    if (mode === "audio") return text.includes("silent") ? new Response("no sound", { status: 422 }) : new Response("sound");
    if (mode === "video") {
      if (!/^\\d+(\\.\\d{1,6})?s$/.test(duration)) return new Response("bad duration", { status: 400 });
      if (text.includes("uncut")) return new Response("busy", { status: 503 });
      return new Response(text + " cut at " + time + " for " + duration, { headers: { "content-type": "video/mp4" } });
    }
    return new Response(Uint8Array.fromBase64(this.picture), { headers: { "content-type": "image/png" } });
  }
}

export class Media extends WorkerEntrypoint {
  input(film) { return new Film(film, this.env.PICTURE); }
}
`;

export const mediaWorker = {
  name: "media",
  modules: true,
  script,
  compatibilityDate: "2026-10-20",
  bindings: { PICTURE: Buffer.from(picture(32, 18)).toString("base64") },
};
