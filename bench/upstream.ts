/** The upstream of the measured gateway: images and characters are ready at once, chats after a second and a half, videos never. */

import { setTimeout as sleep } from "node:timers/promises";

const image = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==", "base64");
const anHourMs = 3_600_000;
/** How long a chat takes: long enough that all that are sent at once wait together. */
const chatMs = 1_500;
const completion = { id: "chat", created: 1_700_000_000, model: "upstream" };
const answered = { role: "assistant", content: "It was." };
const usage = { prompt_tokens: 1, completion_tokens: 3, total_tokens: 4 };

/** Answers in the sandbox Worker's format. */
export async function upstream(request: {
  method: string;
  url: string;
  json(): Promise<unknown>;
  arrayBuffer(): Promise<ArrayBuffer>;
}): Promise<Response> {
  const { pathname } = new URL(request.url);
  if (request.method === "POST" && pathname === "/v1/characters") {
    await request.arrayBuffer();
    return Response.json({ id: "character", status: "running", poll_after_ms: 1 });
  }
  if (request.method === "POST" && pathname === "/v1/chat/completions") {
    const { stream } = (await request.json()) as { stream?: boolean };
    await sleep(chatMs);
    if (!stream) return Response.json({ ...completion, choices: [{ index: 0, message: answered, finish_reason: "stop" }], usage });
    const events = [{ choices: [{ index: 0, delta: answered, finish_reason: "stop" }] }, { choices: [], usage }];
    const lines = events.map((event) => `data: ${JSON.stringify({ ...completion, ...event })}\n\n`);
    return new Response(`${lines.join("")}data: [DONE]\n\n`, { headers: { "content-type": "text/event-stream" } });
  }
  if (request.method === "POST") {
    const { kind } = (await request.json()) as { kind: string };
    return Response.json({ id: kind, status: "running", poll_after_ms: kind === "image" ? 1 : anHourMs });
  }
  if (pathname === "/picture.png") return new Response(image, { headers: { "content-type": "image/png" } });
  if (pathname.endsWith("/image"))
    return Response.json({ id: "image", status: "succeeded", outputs: [{ url: "/picture.png", type: "image/png" }] });
  if (pathname.endsWith("/character")) {
    const character = { username: "amber.fox", display_name: "Amber Fox" };
    return Response.json({ id: "character", status: "succeeded", outputs: [{ url: "/picture.png", type: "image/png" }], character });
  }
  return Response.json({ id: "video", status: "running", progress: 10, poll_after_ms: anHourMs });
}
