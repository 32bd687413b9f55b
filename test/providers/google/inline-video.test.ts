/** Answers that contain a video: how far they are read, and the decoded video. */

import { expect, test } from "vitest";
import { videoIn, lookForVideo } from "../../../src/providers/google/inline-video.ts";

test("the answer is read only up to the video's end, and the video in chunks", async () => {
  const bytes = new Uint8Array(8_000_001).fill(7);
  bytes.set(new TextEncoder().encode("ftypisom"), 4);
  const text = JSON.stringify({
    name: "x",
    done: true,
    response: { videos: [{ mimeType: "video/mp4", bytesBase64Encoded: bytes.toBase64() }] },
  });
  let pulled = 0;
  const answer = () => {
    let at = 0;
    return new ReadableStream<Uint8Array>({
      pull(controller) {
        pulled++;
        // A length that cuts groups of four characters.
        if (at < text.length) controller.enqueue(new TextEncoder().encode(text.slice(at, (at += 50_001))));
        else controller.close();
      },
    });
  };
  expect(await lookForVideo(answer())).toEqual({ video: true });
  expect(pulled).toBeLessThan(5);
  const digest = (data: ArrayBuffer) => crypto.subtle.digest("SHA-256", data).then((hash) => new Uint8Array(hash).toHex());
  const video = await new Response(videoIn(answer())).arrayBuffer();
  expect(await digest(video)).toBe(await digest(bytes.buffer));
});

test.each([
  ['{"name":"x"}', { name: "x" }],
  ['{"name":"x","done":true,"response":{"raiMediaFilteredCount":1}}', { name: "x", done: true, response: { raiMediaFilteredCount: 1 } }],
  [`{"long":"${"a".repeat(100_000)}","done":true}`, { long: expect.any(String), done: true }],
])("an answer without a video is read whole", async (text, value) => {
  expect(await lookForVideo(new Blob([text]).stream())).toEqual({ video: false, value });
});

test("an answer that is not JSON is no answer", async () => {
  await expect(lookForVideo(new Blob(["<html>"]).stream())).rejects.toMatchObject({ retryable: true });
});

test.each(['{"data":"AAAAIGZ0eXBpc29t', '{"data":"none"}'])("a video that breaks off or has been removed is an error", async (text) => {
  await expect(new Response(videoIn(new Blob([text]).stream())).arrayBuffer()).rejects.toMatchObject({ retryable: true });
});
