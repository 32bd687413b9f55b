/** Bodies of vidC and vidD at both sides of every limit: modes D and E of 4.3 and part 8 of the interface, section 1 of the contract. */

import { test } from "vitest";
import { accepting, each, inMetadata, ofModels, refusing, type Row, urls } from "../../support/bodies.ts";
import { holdTime } from "../../support/gateway.ts";

holdTime();

const path = "/v1/videos/generations";
const seconds = { "vidC-1-0-pro-fast": 0.03, "vidC-1-0-pro-quality": 0.06, "vidD-02": 0.05 };
type Model = keyof typeof seconds;
const vidC: Model[] = ["vidC-1-0-pro-fast", "vidC-1-0-pro-quality"];
const vidD: Model[] = ["vidD-02"];
const prompt = "rain over a market";
const url = urls(1)[0]!;
const png = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 0).toBase64();
const withRoles = (...roles: unknown[]) => ({ image_with_roles: roles.map((role) => ({ url, role })) });

const accepts = accepting(path);
const refuses = refusing(path);

/** Without `size` a video with a first frame gets the image's ratio. */
const sizeWith = (body: { images?: unknown[] }) =>
  body.images?.length === 1 || /"first_frame"|"first_frame_image":"/.test(JSON.stringify(body)) ? "auto" : "16:9";

/** The body for each of the models; `told` is the expected change of the defaults. 1080p costs twice as much. */
const rows = (models: Model[], body: object, told = body) =>
  models.map((model): Row => {
    const resolution = model === "vidD-02" ? "768p" : "720p";
    const metadata = { kind: "video", prompt, duration: 5, size: sizeWith(body), resolution, ...told };
    return [{ model, prompt, ...body }, metadata, metadata.duration * seconds[model] * (metadata.resolution === "1080p" ? 2 : 1)];
  });
const refused = (models: Model[], param: string, bodies: object[]) => refuses(param, ofModels(models, prompt, bodies));
const at = (resolution: string) => ({ metadata: { resolution } });

for (const [name, models] of [
  ["vidC", vidC],
  ["vidD", vidD],
] as const) {
  test(`${name}: a prompt of 4000 code points is accepted`, () =>
    accepts(["x", "x".repeat(4000), "🦊".repeat(4000)].flatMap((text) => rows([...models], { prompt: text }))));
  test(`${name}: a prompt of 4001 code points is refused`, () =>
    refused([...models], "prompt", each("prompt", ["x".repeat(4001), "🦊".repeat(4001)])));
  test(`${name}: a prompt of white space only, or a missing one, is refused`, () =>
    refused([...models], "prompt", each("prompt", ["", " \n\t", "\u3000", null, undefined])));
  test(`${name}: a prompt that is not a string is refused`, () => refused([...models], "prompt", each("prompt", [5, true, ["x"]])));
  test(`${name}: metadata must be an object`, () => refused([...models], "metadata", each("metadata", ["1080p", 5, [], true])));
}

test("vidC: the defaults are 5 seconds, 16:9, 720p", () => accepts(rows(vidC, {})));
test("vidC: 2 to 12 seconds are accepted, priced per second", () =>
  accepts(each("duration", [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]).flatMap((body) => rows(vidC, body))));
test("vidC: 1 and 13 seconds, fractions and strings are refused", () =>
  refused(vidC, "duration", each("duration", [1, 13, 0, -2, 2.5, "5", true])));
test("vidC: the six ratios are accepted", () =>
  accepts(each("size", ["16:9", "9:16", "1:1", "4:3", "3:4", "21:9"]).flatMap((body) => rows(vidC, body))));
test("vidC: other sizes are refused", () => refused(vidC, "size", each("size", ["3:2", "2:3", "9:21", "", 1])));
test("vidC: 480p and 720p have the base price, 1080p costs twice as much", () =>
  accepts([
    ...["480p", "720p", "1080p"].flatMap((resolution) => rows(vidC, at(resolution), { resolution })),
    ...rows(vidC, { duration: 12, ...at("1080p") }, { duration: 12, resolution: "1080p" }),
  ]));
test("vidC: other resolutions are refused", () =>
  refused(vidC, "metadata.resolution", inMetadata("resolution", ["512p", "768p", "1080", "1080P", "", 720])));
test("vidC: 4 images are accepted", () => accepts([1, 4].flatMap((count) => rows(vidC, { images: urls(count) }))));
test("vidC: 5 images are refused", () => refused(vidC, "images", [{ images: urls(5) }]));
test("vidC: the three roles are accepted", () =>
  accepts(["first_frame", "last_frame", "reference"].flatMap((role) => rows(vidC, withRoles(role)))));
test("vidC: other or missing roles are refused", () =>
  refused(
    vidC,
    "image_with_roles[0].role",
    ["middle_frame", "First_Frame", "", 1, null, undefined].map((role) => withRoles(role)),
  ));
test("vidC: image_with_roles beside images is refused", () =>
  refused(vidC, "image_with_roles", [{ images: [url], ...withRoles("first_frame") }]));
test("vidC: image_with_roles beside images: null is accepted", () =>
  accepts(rows(vidC, { images: null, ...withRoles("reference") }, withRoles("reference"))));
test("vidC: a reference is accepted at 480p and 720p", () =>
  accepts(
    ["480p", "720p"].flatMap((resolution) =>
      rows(vidC, { ...withRoles("reference"), ...at(resolution) }, { ...withRoles("reference"), resolution }),
    ),
  ));
test("vidC: a reference is refused at 1080p", () =>
  refused(vidC, "image_with_roles[1].role", [{ ...withRoles("first_frame", "reference"), ...at("1080p") }]));
test("vidC: several images without roles are references, and refused at 1080p; one is a frame, and accepted", async () => {
  await refused(
    vidC,
    "images",
    [2, 4].map((count) => ({ images: urls(count), ...at("1080p") })),
  );
  await accepts(rows(vidC, { images: urls(1), ...at("1080p") }, { images: urls(1), size: "auto", resolution: "1080p" }));
});
test("vidC: first and last frame are accepted at 1080p", () => {
  const frames = withRoles("first_frame", "last_frame");
  return accepts(rows(vidC, { ...frames, ...at("1080p") }, { ...frames, resolution: "1080p" }));
});
test("vidC: image_with_roles must be an array of objects with a url", async () => {
  await refused(vidC, "image_with_roles", each("image_with_roles", [{ url, role: "reference" }, 5]));
  await refused(vidC, "image_with_roles[0]", each("image_with_roles", [[url], [5]]));
  await refused(
    vidC,
    "image_with_roles[0].url",
    [undefined, null, 5].map((bad) => ({ image_with_roles: [{ url: bad, role: "reference" }] })),
  );
});
test("vidC: null counts as absent", () => accepts(rows(vidC, { duration: null, size: null, metadata: { resolution: null } }, {})));
test("vidC: the fields of other models are ignored", () => accepts(rows(vidC, { url: 5, from_task: 5, timestamps: 5, n: 9 }, {})));

test("vidD: the defaults are 5 seconds, 16:9, 768p", () => accepts(rows(vidD, {})));
test("vidD: 5 and 10 seconds are accepted, priced per second", () =>
  accepts(each("duration", [5, 10]).flatMap((body) => rows(vidD, body))));
test("vidD: other durations are refused", () => refused(vidD, "duration", each("duration", [4, 6, 9, 11, 0, -5, 5.5, "5", true])));
test("vidD: the two ratios are accepted", () => accepts(each("size", ["16:9", "9:16"]).flatMap((body) => rows(vidD, body))));
test("vidD: other sizes are refused", () => refused(vidD, "size", each("size", ["1:1", "4:3", "3:4", "21:9", "", 1])));
test("vidD: 512p and 768p have the base price, 1080p costs twice as much", () =>
  accepts([
    ...["512p", "768p", "1080p"].flatMap((resolution) => rows(vidD, at(resolution), { resolution })),
    ...rows(vidD, { duration: 10, ...at("1080p") }, { duration: 10, resolution: "1080p" }),
  ]));
test("vidD: other resolutions are refused", () =>
  refused(vidD, "metadata.resolution", inMetadata("resolution", ["480p", "720p", "1080", "", 768])));
for (const field of ["first_frame_image", "last_frame_image"]) {
  test(`vidD: ${field} may be an http(s) URL`, () =>
    accepts(
      [url, "http://pictures.example/frame", "http://127.0.0.1:8080/frame.jpg"].flatMap((good) =>
        rows(vidD, { metadata: { [field]: good } }, { [field]: good }),
      ),
    ));
  test(`vidD: ${field} may not be an inline image`, () =>
    refused(vidD, `metadata.${field}`, inMetadata(field, [`data:image/png;base64,${png}`, png])));
  test(`vidD: ${field} must be a complete http(s) URL without userinfo`, () =>
    refused(
      vidD,
      `metadata.${field}`,
      inMetadata(field, ["ftp://a.example/b.png", "https://user:secret@a.example/b.png", "a.example/b.png", "/b.png", "https://", ""]),
    ));
  test(`vidD: ${field} must be a string`, () => refused(vidD, `metadata.${field}`, inMetadata(field, [5, true, [url], { url }])));
}
test("vidD: both frames together are accepted", () => {
  const metadata = { first_frame_image: url, last_frame_image: url };
  return accepts(rows(vidD, { metadata }, metadata));
});
test("vidD: each flag may be true or false", () =>
  accepts(
    [true, false].flatMap((on) =>
      rows(vidD, { metadata: { prompt_optimizer: on, watermark: !on } }, { prompt_optimizer: on, watermark: !on }),
    ),
  ));
for (const flag of ["prompt_optimizer", "watermark"])
  test(`vidD: ${flag} of any other type is refused`, () => refused(vidD, `metadata.${flag}`, inMetadata(flag, ["true", "", 1, 0, []])));
test("vidD: null counts as absent", () =>
  accepts(rows(vidD, { duration: null, size: null, metadata: { resolution: null, first_frame_image: null } }, {})));
test("vidD: the fields of other models are ignored", () =>
  accepts(rows(vidD, { images: "none", image_with_roles: 5, url: 5, timestamps: 5 }, {})));
