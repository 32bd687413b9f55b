/** What an attempt costs: the forms of prices, and what the maker reports. */

import { expect, test } from "vitest";
import { attemptCost } from "../../src/catalog/costs.ts";

const usage = { inputTokens: 1_000_000, cachedTokens: 400_000, outputTokens: 500_000, seconds: 2.5, usd: 0.25 };

test.each([
  ["images that were made", { image: 0.01, hd_x: 3 }, "image", { n: 4, quality: "hd" }, { outputs: 2 }, 60_000],
  ["images that were asked for", { image: 0.01 }, "image", { n: 4 }, {}, 40_000],
  ["seconds of video at 1080p", { second: 0.05, "1080p_x": 2 }, "video", { duration: 10, resolution: "1080p" }, {}, 1_000_000],
  ["a character", { character: 0.5 }, "character", {}, {}, 500_000],
  ["tokens, cached ones cheaper", { input: 1, cached_input: 0.1, output: 4 }, "chat", {}, { usage }, 2_640_000],
  [
    "more cached tokens than there are",
    { input: 1, cached_input: 0.1, output: 4 },
    "chat",
    {},
    { usage: { ...usage, cachedTokens: 9_000_000 } },
    2_100_000,
  ],
  ["tokens, all alike", { input: 1, output: 4 }, "chat", {}, { usage }, 3_000_000],
  ["the maker's machine", { run_second: 0.001 }, "image", { n: 1 }, { usage }, 2_500],
  ["the maker's own account", { usd: 1.1 }, "image", { n: 1 }, { usage }, 275_000],
  ["a fixed part and a measured one", { image: 0.01, run_second: 0.001 }, "image", { n: 2 }, { usage }, 22_500],
  ["the maker's own account in place of the computed parts", { image: 0.01, run_second: 1, usd: 1 }, "image", { n: 2 }, { usage }, 250_000],
  ["the computed parts without the maker's own account", { image: 0.01, usd: 1 }, "image", { n: 2 }, {}, 20_000],
  ["only an account that the maker did not give", { usd: 1 }, "image", { n: 2 }, {}, null],
  ["a measure that the maker did not report", { image: 0.01, run_second: 1 }, "image", { n: 2 }, {}, null],
  ["a route without a cost", undefined, "image", { n: 2 }, { usage }, null],
  [
    "an own input",
    { second: 0.1, seconds: "duration", factors: { sound: { true: 2, "*": 1 } } },
    "file",
    { input: { duration: "5s", sound: true } },
    {},
    1_000_000,
  ],
  ["an own input that its rule does not price", { second: 0.1, seconds: "duration" }, "file", { input: { duration: "long" } }, {}, null],
  ["a task of an own input that is not there any more", { task: 0.1 }, "video", {}, {}, 100_000],
  ["seconds of an own input that is not there any more", { second: 0.1, seconds: "duration" }, "video", { duration: 5 }, {}, null],
  ["images of an own input that is not there any more", { image: 0.1, count: "num_images" }, "image", { n: 1 }, {}, null],
  ["factors of an own input that is not there any more", { image: 0.1, factors: { sound: { "*": 1 } } }, "image", {}, {}, null],
  ["an own input by the maker's own account", { task: 0.1, usd: 1 }, "file", { input: {} }, { usage }, 250_000],
  ["an own input by the maker's machine", { run_second: 0.001 }, "file", { input: {} }, { usage }, 2_500],
] as const)("%s", (_, cost, action, parameters, made, millionths) => {
  expect(attemptCost({ cost }, action, parameters as never, made)).toBe(millionths);
});
