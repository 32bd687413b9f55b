/** A script of December 2025 for OpenAI's video API. Its client reads OPENAI_BASE_URL and OPENAI_API_KEY from the environment; nothing else names a server. */

import { writeFile } from "node:fs/promises";
import OpenAI from "openai";

const openai = new OpenAI();

let video = await openai.videos.create({
  model: "sora-2",
  prompt: "A lifeboat leaves the harbour in heavy sea, seen from the pier",
  seconds: "8",
  size: "1280x720",
});
console.log(`created ${video.id}`);

while (video.status === "queued" || video.status === "in_progress") {
  await new Promise((resolve) => setTimeout(resolve, 2000));
  video = await openai.videos.retrieve(video.id).catch((error) => {
    if (error.status !== undefined) throw error;
    return video; // the connection broke: poll again
  });
}
if (video.status === "failed") throw new Error(`${video.id} failed: ${video.error?.message}`);

const content = await openai.videos.downloadContent(video.id);
await writeFile("rescue.mp4", Buffer.from(await content.arrayBuffer()));
console.log(`saved ${video.id}`);
