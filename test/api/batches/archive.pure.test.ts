/** Which files of a batch's results are in its archive, and under which names. */

import { expect, test } from "vitest";
import { listArchive } from "../../../src/api/batches/archive.ts";

async function list(lines: object[]): Promise<{ name: string; key: string }[]> {
  const found = [];
  const text = lines.map((line) => JSON.stringify(line)).join("\n");
  let key = "";
  const open = (asked: string) => ((key = asked), Promise.resolve(undefined));
  for await (const entry of listArchive({ text, next: undefined }, () => Promise.resolve(null), open)) {
    await entry.open();
    found.push({ name: entry.name, key });
  }
  return found;
}

const image = (task: string, ...urls: string[]) => ({ custom_id: "a", task, response: { result: { images: [{ url: urls }] } } });

test("a line's own files are found at any base URL; other keys of the bucket and other tasks' files are left out", async () => {
  const own = "assets/task_1/0.png";
  expect(await list([image("task_1", `https://cdn.example/media/v2/${own}?expires=1`)])).toEqual([{ name: "a.png", key: own }]);
  const others = [
    "https://x.example/batches/batch_1/input",
    "https://x.example/assets/task_2/0.png",
    "https://x.example/assets/task_1/../../files/acc_1/x",
    "https://x.example/assets/task_1/a/b.png",
    "https://x.example/assets/task_1/",
    "no url",
  ];
  expect((await list([image("task_1", ...others, `https://x.example/${own}`)])).map(({ key }) => key)).toEqual([own]);
  // The output of a model with fields of its own is the maker's JSON.
  const data = { characters: [{ profile_picture_url: "https://x.example/assets/task_2/0.png" }, null, 5] };
  expect(await list([{ custom_id: "a", task: "task_1", response: { result: { data } } }])).toEqual([]);
});

test("ten thousand lines of one name are numbered without trying each number again", async () => {
  const lines = Array.from({ length: 10_000 }, () => image("task_1", "https://x.example/assets/task_1/0.png"));
  const started = performance.now();
  const names = (await list(lines)).map(({ name }) => name);
  expect(performance.now() - started).toBeLessThan(2_000);
  expect(new Set(names).size).toBe(10_000);
  expect([names[0], names[1], names[9_999]]).toEqual(["a.png", "a (2).png", "a (10000).png"]);
});
