/**
 * The platform's media binding, which works only when deployed: a Worker with the same answers. Videos that contain "silent" have no sound,
 * those that contain "uncut" cannot be cut at the moment. A cut video contains its range as text.
 */

import { image } from "../files.ts";

const script = `
import { RpcTarget, WorkerEntrypoint } from "cloudflare:workers";

class Video extends RpcTarget {
  constructor(video, image) { super(); this.video = video; this.image = image; }
  output(options) { return new Result(this.video, this.image, options); }
}

class Result extends RpcTarget {
  constructor(video, image, options) { super(); Object.assign(this, { video, image, options }); }
  async response() {
    const { mode, time, duration } = this.options;
    const bytes = new Uint8Array(await new Response(this.video).arrayBuffer());
    const text = new TextDecoder("latin1").decode(bytes);
    if (!/^\\d+(\\.\\d+)?s$/.test(time)) return new Response("bad time", { status: 400 });
    if (text.slice(4, 8) !== "ftyp") return new Response("no video", { status: 415 });
    if (mode === "audio") return text.includes("silent") ? new Response("no sound", { status: 422 }) : new Response("sound");
    if (mode === "video") {
      if (!/^\\d+(\\.\\d{1,6})?s$/.test(duration)) return new Response("bad duration", { status: 400 });
      if (text.includes("uncut")) return new Response("busy", { status: 503 });
      return new Response(text + " cut at " + time + " for " + duration, { headers: { "content-type": "video/mp4" } });
    }
    return new Response(Uint8Array.fromBase64(this.image), { headers: { "content-type": "image/png" } });
  }
}

export class Media extends WorkerEntrypoint {
  input(video) { return new Video(video, this.env.IMAGE); }
}
`;

export const mediaWorker = {
  name: "media",
  modules: true,
  script,
  compatibilityDate: "2026-10-20",
  bindings: { IMAGE: Buffer.from(image(32, 18)).toString("base64") },
};
