/** A request means the same on every route: each image arrives in the same role at each maker, or the route is skipped. */

import { beforeEach, expect, test, vi } from "vitest";
import type { Route } from "../../src/catalog/models.ts";
import { builtInRoutes } from "../support/models.ts";
import { readBalance, deliver, holdTime, unique } from "../support/gateway.ts";
import { base64 } from "../media/images.ts";
import { asked, submitTo } from "./support.ts";

holdTime();
beforeEach(() => void vi.setSystemTime(Date.now() + 61_000));

const path = "/v1/videos/generations";
/** Three different images, so that each can be recognised in a submission. */
const files = [0, 1, 2].map((at) => {
  const bytes = new Uint8Array([...Uint8Array.fromBase64(base64.png), at]);
  return bytes.toBase64();
});
const inline = files.map((data) => `data:image/png;base64,${data}`);
const urls = files.map((_, at) => `https://images.example/${at}.png`);

type Arrived = Record<string, "first_frame" | "last_frame" | "reference">;

/** The index of the image that this value contains. */
const indexOf = (value: unknown) => {
  const text = JSON.stringify(value);
  return files.findIndex((data, at) => text.includes(`${data}"`) || text.includes(urls[at]!));
};

// oxlint-disable-next-line typescript/no-explicit-any -- bodies of seven makers
type Body = any;
const note = (arrived: Arrived, role: Arrived[string], ...values: unknown[]) => {
  for (const value of values.flat()) if (value !== undefined) arrived[indexOf(value)] = role;
};

/** Reads the roles from a submission in its maker's format. */
function rolesAt(upstream: string, body: Body): Arrived {
  const arrived: Arrived = {};
  const byContent = (content: Body[]) => {
    for (const part of content.filter(({ type }: Body) => type === "image_url"))
      note(arrived, part.role === "reference_image" ? "reference" : part.role, part);
  };
  const byFields = (input: Body) => {
    note(
      arrived,
      "first_frame",
      input.image,
      input.image_url,
      input.first_frame_url,
      input.first_frame_image,
      input.image_input,
      input.start_image_url,
    );
    note(arrived, "last_frame", input.last_frame, input.end_image_url, input.last_frame_url, input.last_frame_image);
    note(arrived, "reference", input.reference_images, input.image_urls, input.reference_image_urls);
    if (input.content) byContent(input.content);
  };
  if (upstream === "modelark") byContent(body.content);
  else if (upstream === "minimax" || upstream === "xai") byFields(body);
  else if (upstream === "google" && body.instances) {
    const [{ image, lastFrame, referenceImages = [] }] = body.instances;
    note(arrived, "first_frame", image);
    note(arrived, "last_frame", lastFrame);
    note(arrived, "reference", ...referenceImages);
  } else if (upstream === "google") {
    const images = Array.isArray(body.input) ? body.input.filter(({ type }: Body) => type === "image") : [];
    note(arrived, body.generation_config.video_config.task === "image_to_video" ? "first_frame" : "reference", ...images);
  } else byFields(body.input);
  return arrived;
}

const roleList = (...roles: Arrived[string][]) => ({ image_with_roles: roles.map((role, at) => ({ url: inline[at]!, role })) });
const cases: [name: string, fields: object, expected: Arrived][] = [
  ["one image", { images: inline.slice(0, 1) }, { 0: "first_frame" }],
  ["two images", { images: inline.slice(0, 2) }, { 0: "reference", 1: "reference" }],
  ["three images", { images: inline }, { 0: "reference", 1: "reference", 2: "reference" }],
  ["a last and a first frame", roleList("last_frame", "first_frame"), { 0: "last_frame", 1: "first_frame" }],
  ["one reference", roleList("reference"), { 0: "reference" }],
];
const frames = (fields: object) => ({ duration: 10, metadata: fields });
const framesOfVidD: typeof cases = [
  ["a first frame", frames({ first_frame_image: urls[0] }), { 0: "first_frame" }],
  ["both frames", frames({ first_frame_image: urls[0], last_frame_image: urls[1] }), { 0: "first_frame", 1: "last_frame" }],
  ["a last frame alone", frames({ last_frame_image: urls[1] }), { 1: "last_frame" }],
];
const table = builtInRoutes();
const all = Object.entries(table)
  .filter(([model]) => model.startsWith("vid"))
  .flatMap(([model, routes]) => (model === "vidD-02" ? framesOfVidD : cases).map((one) => [model, ...one, routes] as const));

test.each(all)("%s, %s: the roles are the same on every route that accepts it", async (model, what, fields, expected, routes) => {
  const real = globalThis.fetch.bind(globalThis);
  vi.spyOn(globalThis, "fetch").mockImplementation(async (input, init) => {
    const at = urls.indexOf(new Request(input).url);
    return at < 0 ? real(input, init) : new Response(Uint8Array.fromBase64(files[at]!));
  });
  const taken: string[] = [];
  for (const route of routes.filter(({ provider }) => provider !== "sandbox" && provider !== "media")) {
    const prompt = unique();
    const { account, status, body } = await submitTo({ [model]: [route] }, path, { model, prompt, ...fields });
    const name = `${route.provider} ${route.model}`;
    if (status !== 200) {
      expect(body.error, name).toMatchObject({ code: "unsupported_parameter" });
      expect(body.error.param, name).toMatch(
        /^(?:images|image_with_roles|metadata\.(?:first|last)_frame_image|duration|metadata\.resolution)$/,
      );
      expect(await readBalance(account)).toMatchObject({ reserved: 0 });
      continue;
    }
    await deliver(body.id as string);
    const start = (await asked(prompt)).find(({ call }) => call === "start");
    expect(start && rolesAt(start.upstream, start.body), name).toEqual(expected);
    taken.push(name);
  }
  // At least one real route honours each case, so that no case is tested by refusals only.
  expect(taken).not.toEqual([]);
  if (what === "a last frame alone") expect(taken).toEqual(["minimax MiniMax-H3", "cloudflare minimax/h3"]);
});

test("a video with a first frame and no size gets the image's ratio if the route supports that, and is 16:9 otherwise", async () => {
  const ratios: [model: string, route: Route, where: (body: Body) => unknown, ratio: string | undefined][] = [
    ["vidA-2", { provider: "modelark", model: "dreamina-seedance-2-0-fast-260128" }, (body) => body.ratio, "adaptive"],
    ["vidA-2-pro", { provider: "modelark", model: "dreamina-seedance-2-5-260628" }, (body) => body.ratio, undefined],
    ["vidA-2", { provider: "fal", model: "bytedance/seedance-2.0/fast" }, (body) => body.input.aspect_ratio, "auto"],
    ["vidB-3.1-fast", { provider: "fal", model: "fal-ai/veo3.1/fast" }, (body) => body.input.aspect_ratio, "auto"],
    ["vidA-2", { provider: "replicate", model: "bytedance/seedance-2.0" }, (body) => body.input.aspect_ratio, "adaptive"],
    ["vidA-2", { provider: "cloudflare", model: "minimax/h3" }, (body) => body.input.ratio, "adaptive"],
    ["vidA-2-pro", { provider: "fal", model: "alibaba/wan-3.0" }, (body) => body.input.aspect_ratio, undefined],
    ["vidA-2", { provider: "xai", model: "grok-imagine-video" }, (body) => body.aspect_ratio, undefined],
    ["vidB-3.1-fast", { provider: "google", model: "veo-3.1-fast-generate-001" }, (body) => body.parameters.aspectRatio, "16:9"],
    ["vidA-2", { provider: "google", model: "gemini-omni-1.2-flash" }, (body) => body.response_format.aspect_ratio, "16:9"],
  ];
  for (const [model, route, where, ratio] of ratios) {
    const prompt = unique();
    const { body } = await submitTo({ [model]: [route] }, path, { model, prompt, images: inline.slice(0, 1) });
    expect(body.metadata, `${route.provider} ${JSON.stringify(body)}`).toMatchObject({ size: "auto" });
    await deliver(body.id as string);
    const start = (await asked(prompt)).find(({ call }) => call === "start");
    expect(where(start!.body), route.model).toBe(ratio);
  }
});

test("a size given by the caller is kept beside a first frame, or the route is skipped", async () => {
  const withFrame = (prompt: string) => ({ model: "vidA-2-pro", prompt, size: "9:16", images: inline.slice(0, 1) });
  const kept = unique();
  const route = { provider: "modelark", model: "dreamina-seedance-2-0-260128" };
  const { body } = await submitTo({ "vidA-2-pro": [route] }, path, withFrame(kept));
  expect(body.metadata).toMatchObject({ size: "9:16" });
  await deliver(body.id as string);
  expect((await asked(kept))[0]!.body).toMatchObject({ ratio: "9:16" });
  const refused = await submitTo({ "vidA-2-pro": [{ ...route, model: "dreamina-seedance-2-5-260628" }] }, path, withFrame(unique()));
  expect(refused.body.error).toMatchObject({ code: "unsupported_parameter", param: "size" });
});

test("videos of 25 seconds are made only by the routes of Seedance 2.5 and Wan 3.0", async () => {
  const makers: string[] = [];
  for (const route of table["vidA-2-pro"]!.filter(({ provider }) => provider !== "sandbox" && provider !== "media")) {
    const prompt = unique();
    const { status, body } = await submitTo({ "vidA-2-pro": [route] }, path, { model: "vidA-2-pro", prompt, duration: 25 });
    if (status !== 200) {
      expect(body.error.param, route.model).toBe("duration");
      continue;
    }
    await deliver(body.id as string);
    expect((await asked(prompt)).map(({ call }) => call)).toContain("start");
    makers.push(`${route.provider} ${route.model}`);
  }
  expect(makers).toEqual([
    "modelark dreamina-seedance-2-5-260628",
    "fal bytedance/seedance-2.5",
    "cloudflare bytedance/seedance-2.5",
    "fal alibaba/wan-3.0",
  ]);
});
