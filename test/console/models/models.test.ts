/** The list of models: what each can do, its present time and success, search and filters, and the calculator. */

import "../../support/alone.ts";
import { env } from "cloudflare:workers";
import { beforeAll, expect, test } from "vitest";
import { type SettledEntry, writeEntries } from "../../../src/db/grants.ts";
import { newAccount } from "../../support/gateway.ts";
import { Browser, words } from "../support.ts";

const path = "/console/models";
const browser = new Browser();
beforeAll(async () => void (await browser.signUp()));

const names = (html: string) => [...html.matchAll(/<a class="plain" href="\/console\/models\/([\w.-]+)"/g)].map(([, name]) => name);
const card = (html: string, model: string) =>
  words(`<main${[...html.matchAll(/<li class="card.*?<\/li>/gs)].find(([text]) => text.includes(`${path}/${model}"`))?.[0] ?? ""}`);

test("each card says what its model can do and shows what it makes; text and unknown models have an icon", async () => {
  const page = await browser.read(path);
  expect(card(page, "imgA-4")).toContain("up to 4 images, 7 shapes, 5 reference images, HD");
  expect(card(page, "vidA-2")).toContain("10, 15 s, 3 shapes, 4 reference images, first and last frame, characters, remix");
  expect(card(page, "vidC-1-0-pro-fast")).toContain("2–12 s, 6 shapes, 4 reference images, first and last frame, 1080p");
  expect(card(page, "textA-1")).toContain("Tools Price $2.00 per million input tokens $8.00 per million output tokens");
  expect(page.match(/<a class="cover"[^>]*><img src="\/console\/static\//g)?.length).toBe(10);
  expect(page.match(/<a class="cover"[^>]*><svg/g)?.length).toBe(2);
});

test("the list is found by kind, ability and words, with counts; the address says what is shown", async () => {
  expect(words(await browser.read(path))).toContain("All 12 Image 3 Video 7 Text 2");
  expect(names(await browser.read(`${path}?kind=chat`))).toEqual(["textA-1", "textA-1-mini"]);
  expect(names(await browser.read(`${path}?can=remix`))).toEqual(["vidA-2", "vidA-2-pro"]);
  expect(words(await browser.read(`${path}?can=remix`))).toContain("All 2 Image 0 Video 2 Text 0");
  expect(names(await browser.read(`${path}?q=1080P+vidc`))).toEqual(["vidC-1-0-pro-fast", "vidC-1-0-pro-quality"]);
  expect(names(await browser.read(`${path}?q=alias-pro`))).toEqual(["imgC-3-pro-image-preview"]);
  const none = await browser.read(`${path}?q=${encodeURIComponent('"><script>')}&kind=image`);
  expect(none).toContain("No such models");
  expect(none).not.toContain('"><script>');
  expect(await browser.read(`${path}?kind=toString&can=constructor&as=other`)).toContain('class="cover"');
});

test("the table prices some work with every model", async () => {
  const priced = words(await browser.read(`${path}?as=table&images=10&seconds=20&input=500000&output=250000`));
  expect(priced).toMatch(/imgA-4 Image .*? \$0\.30 HD: \$0\.60/);
  expect(priced).toMatch(/vidD-02 Video .*? \$1\.00 1080p: \$2\.00/);
  expect(priced).toMatch(/textA-1 Text .*? \$3\.00 textA-1-mini/);
  const images = await browser.read(`${path}?as=table&kind=image&images=-1`);
  expect(images).toContain('name="images" id="f-images" min="0" max="1000000000" value="100"');
  expect(images).not.toContain('name="seconds"');
});

test("times and success are those of the last day over the deployment, and a model that mostly fails or is slow says so", async () => {
  const now = Date.now();
  const account = await newAccount();
  let count = 0;
  const settle = (model: string, kind: string, seconds: number, outcomes: string[]) =>
    writeEntries(
      env.DB,
      account.id,
      0,
      outcomes.map((outcome): SettledEntry => ({
        taskId: `task_models_${++count}`,
        keyId: account.keyId,
        kind,
        model,
        held: 0,
        charged: 0,
        outcome,
        at: now - 60_000 - 1000 * seconds,
        closedAt: now - 60_000,
        attempts: [{ route: "0 secretprovider m", cost: 0 }],
      })),
    );
  const done = "completed";
  await settle("imgA-4", "image", 9, [done, done, done, done, "content_policy_violation", "provider_error"]);
  await settle("imgB-4o-image", "image", 90, [done, done, done, done, done]);
  await settle("vidA-2", "video", 60, [done, "provider_error", "provider_error", "provider_error", "deadline_exceeded"]);
  // A remix is not the model's main kind, and four are too few.
  await settle("vidA-2", "remix", 60, [done, done, done, done, done]);
  await settle("vidD-02", "video", 60, ["provider_error", "provider_error", "provider_error", "provider_error"]);
  const page = await browser.read(path);
  expect(card(page, "imgA-4")).toMatch(/Typical time about 15 s Time, 24 h about \d s Completed, 24 h 80\s%/);
  expect(card(page, "imgB-4o-image")).toContain("Slow today");
  expect(card(page, "vidA-2")).toMatch(/Mostly fails .* Completed, 24 h 20\s%/);
  expect(card(page, "vidD-02")).not.toMatch(/Mostly|Completed/);
  expect(page).not.toContain("secretprovider");
  for (const language of ["zh", "ko", "ja"]) {
    await browser.ask(`/console/language?to=${language}`);
    for (const shown of [path, `${path}?as=table`]) expect(await browser.read(shown)).not.toMatch(/model_\w+<|\{\w+\}|NaN|undefined/);
  }
});
