/** A video that the gateway has signed plays in a browser, with its sound. */

import { expect, test } from "./support/test.ts";
import { makeTasks } from "./support/own-tasks.ts";

test("a signed video plays to its end, with sound", async ({ signedIn, gateway }) => {
  const page = await signedIn();
  const [task = ""] = await makeTasks(gateway, page, [{ model: "vidA-2", prompt: "Waves on a beach" }]);
  await page.goto(`/console/tasks/${task}`);
  const source = await page
    .locator("video")
    .first()
    .evaluate((video: HTMLVideoElement) => video.currentSrc || video.src || video.querySelector("source")!.src);
  const bytes = Buffer.from(await (await fetch(source)).arrayBuffer());
  // The last box; the manifest in it names the same id.
  const at = bytes.indexOf(Buffer.from("d8fec3d61b0e483c92975828877ec481", "hex"));
  expect(bytes.readUInt32BE(at - 8)).toBe(bytes.length - at + 8);
  const played = await page.evaluate(async (url) => {
    const video = document.createElement("video");
    video.src = url;
    video.muted = true; // a page may start no sound by itself; it is decoded all the same
    video.playbackRate = 8;
    document.body.append(video);
    await video.play();
    await new Promise((resolve, reject) => {
      video.addEventListener("ended", resolve);
      video.addEventListener("error", () => reject(new Error(video.error?.message)));
    });
    const counted = video as HTMLVideoElement & { webkitAudioDecodedByteCount: number; webkitVideoDecodedByteCount: number };
    const { duration, currentTime, webkitAudioDecodedByteCount: audio, webkitVideoDecodedByteCount: frames } = counted;
    video.remove();
    const file = await (await fetch(url)).arrayBuffer();
    const sound = await new OfflineAudioContext(1, 48_000, 48_000).decodeAudioData(file);
    return {
      duration,
      currentTime,
      audio,
      frames,
      sound: sound.duration,
      peak: Math.max(...sound.getChannelData(0).subarray(0, 100_000).map(Math.abs)),
    };
  }, source);
  expect(played.duration).toBeCloseTo(10, 0);
  expect(played.currentTime).toBeCloseTo(played.duration, 1);
  expect(played.frames).toBeGreaterThan(0);
  expect(played.audio).toBeGreaterThan(0);
  expect(played.sound).toBeCloseTo(10, 0);
  expect(played.peak).toBeGreaterThan(0.01);
});
