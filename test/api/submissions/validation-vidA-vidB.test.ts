/** Bodies of vidA and vidB at both sides of every limit: modes A and C of 4.3 and part 8 of the interface, section 1 of the contract. */

import { test } from "vitest";
import { accepting, each, inMetadata, ofModels, refusing, type Row, urls } from "../../support/bodies.ts";
import { holdTime } from "../../support/gateway.ts";

holdTime();

const path = "/v1/videos/generations";
const seconds = { "vidA-2": 0.1, "vidA-2-pro": 0.3, "vidB-3.1-fast": 0.15, "vidB-3.1-quality": 0.4 };
type Model = keyof typeof seconds;
const vidA: Model[] = ["vidA-2", "vidA-2-pro"];
const vidB: Model[] = ["vidB-3.1-fast", "vidB-3.1-quality"];
const styles = ["comic", "news", "anime", "selfie", "nostalgic", "thanksgiving"];
const flags = ["watermark", "private", "storyboard", "thumbnail"];
const prompt = "a ship leaves the harbour";

const accepts = accepting(path);
const refuses = refusing(path);

const readDefaults = (model: Model) =>
  vidA.includes(model)
    ? { kind: "video", prompt, duration: 10, size: "16:9", watermark: false }
    : { kind: "video", prompt, duration: 8, size: "16:9" };
/** The body for each of the models; `told` is the expected change of the defaults. */
const rows = (models: Model[], body: object, told = body) =>
  models.map((model): Row => {
    const metadata = { ...readDefaults(model), ...told };
    return [{ model, prompt, ...body }, metadata, metadata.duration * seconds[model]];
  });
const refused = (models: Model[], param: string, bodies: object[]) => refuses(param, ofModels(models, prompt, bodies));

for (const [name, models, images] of [
  ["vidA", vidA, 4],
  ["vidB", vidB, 3],
] as const) {
  test(`${name}: ${images} reference images are accepted`, () => accepts(rows([...models], { images: urls(images) })));
  test(`${name}: one image is the first frame, and without a size the video follows its ratio`, () =>
    accepts([
      ...rows([...models], { images: urls(1) }, { images: urls(1), size: "auto" }),
      ...rows([...models], { images: urls(1), size: "9:16" }),
    ]));
  const roles = (...list: string[]) => ({ image_with_roles: list.map((role, at) => ({ url: urls(at + 1)[at]!, role })) });
  const references = Array.from({ length: images }, () => "reference");
  test(`${name}: images with roles are accepted as frames or as up to ${images} references`, () =>
    accepts([
      ...rows([...models], roles(...references)),
      ...rows([...models], roles("last_frame")),
      ...["first_frame", "last_frame"]
        .map((role) => [role, role === "first_frame" ? "last_frame" : "first_frame"])
        .flatMap((both) => rows([...models], roles(...both), { ...roles(...both), size: "auto" })),
    ]));
  test(`${name}: images with roles are refused as frames and references, with a frame twice, too many, or beside images`, () =>
    refused([...models], "image_with_roles", [
      roles("first_frame", "reference"),
      roles("reference", "last_frame"),
      roles("first_frame", "first_frame"),
      roles(...references, "reference"),
      { ...roles("reference"), images: urls(1) },
    ]));
  test(`${name}: a resolution is an unknown field, and beside references it is ignored too`, () =>
    accepts(rows([...models], { ...roles("reference"), metadata: { resolution: "1080p" } }, roles("reference"))));
  test(`${name}: an unknown role is refused`, () => refused([...models], "image_with_roles[0].role", [roles("hero")]));
  test(`${name}: ${images + 1} images are refused`, () => refused([...models], "images", [{ images: urls(images + 1) }]));
  test(`${name}: a prompt of 4000 code points is accepted`, () =>
    accepts(["x", "x".repeat(4000), "🦊".repeat(4000)].flatMap((text) => rows([...models], { prompt: text }))));
  test(`${name}: a prompt of 4001 code points is refused`, () =>
    refused([...models], "prompt", each("prompt", ["x".repeat(4001), "🦊".repeat(4001)])));
  test(`${name}: a prompt of white space only, or a missing one, is refused`, () =>
    refused([...models], "prompt", each("prompt", ["", " \n\t", "\u3000", null, undefined])));
  test(`${name}: a prompt that is not a string is refused`, () => refused([...models], "prompt", each("prompt", [5, true, ["x"]])));
}

test("vidA: the defaults are 10 seconds, 16:9, no watermark", () => accepts(rows(vidA, {})));
test("vidA-2: 10 and 15 seconds are accepted, priced per second", () =>
  accepts(each("duration", [10, 15]).flatMap((body) => rows(["vidA-2"], body))));
test("vidA-2: other durations are refused", () =>
  refused(["vidA-2"], "duration", each("duration", [9, 11, 14, 16, 25, 0, -10, 10.5, "10", true])));
test("vidA-2-pro: 10, 15 and 25 seconds are accepted, priced per second", () =>
  accepts(each("duration", [10, 15, 25]).flatMap((body) => rows(["vidA-2-pro"], body))));
test("vidA-2-pro: other durations are refused", () =>
  refused(["vidA-2-pro"], "duration", each("duration", [9, 11, 14, 16, 24, 26, 0, 10.5, "10", true])));
test("vidA: the three ratios are accepted", () => accepts(each("size", ["16:9", "9:16", "1:1"]).flatMap((body) => rows(vidA, body))));
test("vidA: other sizes are refused", () => refused(vidA, "size", each("size", ["4:3", "3:4", "21:9", "1280x720", "", 1])));
test("vidA: the six styles are accepted", () => accepts(styles.flatMap((style) => rows(vidA, { metadata: { style } }, { style }))));
test("vidA: other styles are refused", () => refused(vidA, "metadata.style", inMetadata("style", ["noir", "Comic", "", 1, ["comic"]])));
test("vidA: each flag may be true or false", () =>
  accepts(
    [true, false].flatMap((on) => {
      const metadata = Object.fromEntries(flags.map((flag) => [flag, on]));
      return rows(vidA, { metadata }, metadata);
    }),
  ));
for (const flag of flags)
  test(`vidA: ${flag} of any other type is refused`, () => refused(vidA, `metadata.${flag}`, inMetadata(flag, ["true", "", 1, 0, []])));
test("vidA: metadata must be an object", () => refused(vidA, "metadata", each("metadata", ["comic", 5, true, [], [{ style: "comic" }]])));
test("vidA: null and unknown fields of metadata change nothing", () =>
  accepts(
    each("metadata", [null, {}, { style: null, watermark: null, private: null }, { resolution: "4k", mood: 5 }]).flatMap((body) =>
      rows(["vidA-2"], body, {}),
    ),
  ));
test("vidA: null counts as absent, also in the fields that select character creation", () =>
  accepts(rows(vidA, { duration: null, size: null, images: null, url: null, from_task: null, timestamps: null }, {})));
test("vidA: all fields together are echoed and priced", () => {
  const metadata = { style: "anime", watermark: true, private: true, storyboard: false, thumbnail: true };
  const body = { duration: 25, size: "1:1", images: urls(4) };
  return accepts(rows(["vidA-2-pro"], { ...body, metadata }, { ...body, ...metadata }));
});

test("vidB: the defaults are 8 seconds and 16:9", () => accepts(rows(vidB, {})));
test("vidB: duration 8 is accepted", () => accepts(rows(vidB, { duration: 8 })));
test("vidB: other durations are refused", () => refused(vidB, "duration", each("duration", [7, 9, 0, -8, 8.5, 10, "8", true])));
test("vidB: the two ratios are accepted", () => accepts(each("size", ["16:9", "9:16"]).flatMap((body) => rows(vidB, body))));
test("vidB: other sizes are refused", () => refused(vidB, "size", each("size", ["1:1", "4:3", "3:4", "21:9", "", 1])));
test("vidB: null counts as absent", () => accepts(rows(vidB, { duration: null, size: null, images: null }, {})));
test("vidB: the fields of other models are ignored", () =>
  accepts(rows(vidB, { metadata: { resolution: "4k" }, url: "no URL", from_task: "no task", timestamps: "never" }, {})));
