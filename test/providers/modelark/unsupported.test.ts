/** Requests that Seedance and Seedream cannot honour exactly are refused by field, before anything is reserved. */

import { expect, test } from "vitest";
import { readBalance, holdTime, unique } from "../../support/gateway.ts";
import { inlineImage as url, routeTo, videos } from "./support.ts";
import { readCalls, submitReferenceAt1080p, submitTo } from "../support.ts";

holdTime();

const frame = (role: string) => ({ url, role });
const fast = "dreamina-seedance-2-0-fast-260128";
const standard = "dreamina-seedance-2-0-260128";
const newest = "dreamina-seedance-2-5-260628";
const older = "seedance-1-0-pro-250528";
const olderFast = "seedance-1-0-pro-fast-251015";

test.each([
  ["2.x makes no video of 2 seconds", "vidC-1-0-pro-quality", standard, { duration: 2 }, "duration"],
  ["2.5 makes no video of 3 seconds", "vidC-1-0-pro-quality", newest, { duration: 3 }, "duration"],
  ["2.0 ends at 15 seconds", "vidA-2-pro", standard, { duration: 25 }, "duration"],
  ["1.0 ends at 12 seconds", "vidA-2", older, { duration: 15 }, "duration"],
  ["2.0 fast ends at 720p", "vidC-1-0-pro-fast", fast, { metadata: { resolution: "1080p" } }, "metadata.resolution"],
  ["no Seedance makes 768p", "vidD-02", standard, {}, "metadata.resolution"],
  [
    "no Seedance rewrites prompts",
    "vidD-02",
    standard,
    { metadata: { resolution: "1080p", prompt_optimizer: true } },
    "metadata.prompt_optimizer",
  ],
  ["1.0 pro takes no references", "vidC-1-0-pro-quality", older, { image_with_roles: [frame("reference")] }, "image_with_roles"],
  ["1.0 pro takes one image without a role", "vidA-2", older, { images: [url, url], duration: 10 }, "images"],
  ["a last frame needs a first one", "vidC-1-0-pro-quality", standard, { image_with_roles: [frame("last_frame")] }, "image_with_roles"],
  [
    "1.0 pro fast has no last frame",
    "vidC-1-0-pro-fast",
    olderFast,
    { image_with_roles: [frame("first_frame"), frame("last_frame")] },
    "image_with_roles",
  ],
  [
    "frames and references do not mix",
    "vidC-1-0-pro-quality",
    standard,
    { image_with_roles: [frame("first_frame"), frame("reference")] },
    "image_with_roles",
  ],
  ["with a first frame 2.5 takes its ratio from it", "vidA-2-pro", newest, { images: [url], size: "9:16" }, "size"],
  ["of an unknown model only what all can do is asked", "vidA-2", "ep-20261120-abcde", { duration: 15 }, "duration"],
])("%s", async (_, model, id, asked, param) => {
  const prompt = unique();
  const { status, body, account } = await submitTo(routeTo(model, id), videos, { model, prompt, ...asked });
  expect(status).toBe(400);
  expect(body.error).toMatchObject({ code: "unsupported_parameter", param });
  expect(await readCalls(prompt)).toEqual([]);
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
});

test("a character's image is a reference, which does not go with 1080p", async () => {
  const [model, prompt] = ["vidC-1-0-pro-quality", unique()];
  const { status, body, account } = await submitReferenceAt1080p(routeTo(model, standard), videos, model, prompt);
  expect(status).toBe(400);
  expect(body.error).toMatchObject({ code: "unsupported_parameter", param: "metadata.resolution" });
  expect(await readCalls(prompt)).toEqual([]);
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
});

test("characters are refused", async () => {
  const asked = { model: "vidA-2", url: "https://videos.example/someone.mp4", timestamps: "1,3" };
  const { status, body, account } = await submitTo(routeTo("vidA-2", standard), videos, asked);
  expect(status).toBe(400);
  expect(body.error).toMatchObject({ code: "model_not_available", param: "model" });
  expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
});
