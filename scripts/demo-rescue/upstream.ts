/** A small upstream with OpenAI's video API in a separate process: accepts work, reports progress, never finishes, and keeps everything in memory. */

import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";

/** The reports of the process to its parent. */
export type UpstreamEvent = { is: "listening"; port: number } | { is: "accepted" | "forgotten"; id: string };

const report = (event: UpstreamEvent) => void process.send?.(event);
const known = new Map<string, { id: string; object: "video"; status: "in_progress"; progress: number; created_at: number }>();

const server = createServer((request, response) => {
  const answer = (status: number, body: object) =>
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  const { pathname } = new URL(request.url ?? "/", "http://upstream");
  const id = /^\/v1\/videos\/([^/]+)$/.exec(pathname)?.[1];
  if (request.method === "POST" && pathname === "/v1/videos") {
    void json(request).then((asked) => {
      const video = {
        ...(asked as object),
        id: `video_${randomUUID().replaceAll("-", "")}`,
        object: "video" as const,
        status: "in_progress" as const,
        progress: 0,
        created_at: Math.floor(Date.now() / 1000),
      };
      known.set(video.id, video);
      answer(200, video);
      report({ is: "accepted", id: video.id });
    });
    return;
  }
  const video = id === undefined ? undefined : known.get(id);
  if (!video) {
    answer(404, { error: { message: "Not found.", type: "invalid_request_error", param: null, code: null } });
    if (id !== undefined) report({ is: "forgotten", id });
    return;
  }
  video.progress += 20;
  answer(200, video);
});

// Ends with its parent, however that ends.
process.once("disconnect", () => process.exit());
server.listen(Number(process.argv[2] ?? 0), "127.0.0.1", () => report({ is: "listening", port: (server.address() as AddressInfo).port }));
