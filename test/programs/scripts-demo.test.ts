/** `npm run demo` as a process: it succeeds, its files exist and are valid, and it leaves no process running. */

import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { decode } from "fast-png";
import { BufferSource, Input, MP4 } from "mediabunny";
import { expect, onTestFinished, test } from "vitest";
import { printed, runScript, survivors } from "./scripts-child.ts";
import { descendants } from "./support/processes.ts";

const files = [
  "character.png",
  "chat-streamed.txt",
  "chat.txt",
  "image-pair-1.png",
  "image-pair-2.png",
  "image.png",
  "remix.mp4",
  "video-thumbnail.png",
  "video-with-character.mp4",
  "video.mp4",
];

async function temporary(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "scripts-demo-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

test("the demo makes, saves and checks everything, and leaves no process behind", { timeout: 180_000 }, async () => {
  const [output, scratch] = await Promise.all([temporary(), temporary()]);
  await writeFile(join(output, "notes.md"), "not the demo's");
  await writeFile(join(output, "video-of-an-earlier-run.mp4"), "stale");

  const demo = runScript("scripts/demo.ts", { BASE_URL: "", DEMO_OUTPUT: output, TMPDIR: scratch });
  onTestFinished(() => void demo.process.kill());
  await printed(demo, /^video: in_progress/m, 120_000);
  const started = descendants(demo.process.pid!);
  expect(started.filter(({ command }) => command.includes("workerd")).length).toBeGreaterThan(0);

  expect(await demo.exited, demo.output()).toBe(0);
  expect(demo.output()).toContain("Every file and the bill are correct.");
  expect(demo.output()).toMatch(/image\.png was made here: \d{4}-.*, credentials: gateway/);
  expect(await survivors(started, 2_000)).toEqual([]);
  expect((await readdir(scratch)).filter((name) => name.startsWith("gateway-demo-"))).toEqual([]);

  expect((await readdir(output)).sort()).toEqual([...files, "notes.md"].sort());
  const image = decode(await readFile(join(output, "image.png")));
  expect([image.width, image.height]).toEqual([1792, 1024]);
  expect(await readFile(join(output, "image-pair-1.png"))).not.toEqual(await readFile(join(output, "image-pair-2.png")));
  using video = new Input({ source: new BufferSource(await readFile(join(output, "video.mp4"))), formats: [MP4] });
  expect(await video.computeDuration()).toBeCloseTo(10, 1);
  expect((await video.getPrimaryAudioTrack())?.codec).toBe("aac");
  expect(await readFile(join(output, "chat.txt"), "utf8")).toContain("lighthouse");
});

test("the demo fails without a gateway, and without a key", async () => {
  const output = await temporary();
  const nowhere = runScript("scripts/demo.ts", { BASE_URL: "http://127.0.0.1:9", API_KEY: "sk-none", DEMO_OUTPUT: output });
  const keyless = runScript("scripts/demo.ts", { BASE_URL: "http://127.0.0.1:9", API_KEY: "", DEMO_OUTPUT: output });
  expect(await nowhere.exited).toBe(1);
  expect(await keyless.exited).toBe(1);
  expect(keyless.output()).toContain("BASE_URL needs an API_KEY");
});
