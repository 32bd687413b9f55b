/** The field `model` on every endpoint, and that all violations of a body are reported at once: sections 1 and 5 of the contract. */

import { expect, test } from "vitest";
import { call, holdTime, newAccount } from "../support/gateway.ts";
import { expectNoTrace } from "../support/refusal.ts";

holdTime();

const prompt = "a quiet street";
const url = "https://pictures.example/a.png";
const families = {
  text: ["textA-1", "textA-1-mini"],
  image: ["imgA-4", "imgB-4o-image", "imgC-3-pro-image-preview", "imgC-alias-pro"],
  vidA: ["vidA-2", "vidA-2-pro"],
  video: ["vidB-3.1-fast", "vidB-3.1-quality", "vidC-1-0-pro-fast", "vidC-1-0-pro-quality", "vidD-02"],
};
const chatBody = { messages: [{ role: "user", content: "Hi" }] };
const remix = "/v1/videos/task_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA/remix";
const endpoints = [
  { path: "/v1/chat/completions", rest: chatBody, own: families.text, foreign: [...families.image, ...families.vidA, ...families.video] },
  {
    path: "/v1/images/generations",
    rest: { prompt },
    own: families.image,
    foreign: [...families.text, ...families.vidA, ...families.video],
  },
  {
    path: "/v1/videos/generations",
    rest: { prompt },
    own: [...families.vidA, ...families.video],
    foreign: [...families.text, ...families.image],
  },
  { path: remix, rest: { prompt }, own: families.vidA, foreign: [...families.text, ...families.image, ...families.video] },
];
const words = ["imgZ-9", "", " ", "constructor", "__proto__", "toString"];

interface Refused {
  status: number;
  error: {
    message: string;
    type: string;
    code: string;
    param: string | null;
    details: { param: string; message: string; allowed?: unknown }[];
  };
}

/** Sends the bodies from one new account and checks that each is refused without a trace. */
async function refused(path: string, bodies: object[]): Promise<Refused[]> {
  const account = await newAccount();
  const answers: Refused[] = [];
  for (const body of bodies) {
    const answer = await call(path, { key: account.key, body });
    expect(answer.status, JSON.stringify(body)).toBe(400);
    expect(Object.keys(answer.body)).toEqual(["error"]);
    answers.push({ status: answer.status, error: answer.body.error });
  }
  await expectNoTrace(account);
  return answers;
}

/** The fields that a body violates, each once, sorted; also checks that `param` is the first reported one. */
async function violated(path: string, body: object): Promise<string[]> {
  const [answer] = await refused(path, [body]);
  const { type, param, details } = answer!.error;
  expect(type).toBe("invalid_request");
  expect(param).toBe(details[0]!.param);
  return [...new Set(details.map((detail) => detail.param))].sort();
}

for (const { path, rest, own, foreign } of endpoints) {
  const name = path.replace(/task_A+/, "{video_id}");
  const details = [{ param: "model", message: expect.any(String), allowed: expect.arrayContaining(own) }];

  test(`${name}: a missing model is 400 with param model`, async () => {
    for (const { error } of await refused(path, [rest, { ...rest, model: null }]))
      expect(error).toEqual({
        message: expect.stringContaining("model"),
        type: "invalid_request",
        code: "invalid_request",
        param: "model",
        details,
      });
  });
  test(`${name}: a model that is not a string is 400 with param model`, async () => {
    const bodies = [5, true, own, { id: own[0] }].map((model) => ({ ...rest, model }));
    for (const { error } of await refused(path, bodies)) expect(error).toMatchObject({ type: "invalid_request", param: "model" });
  });
  test(`${name}: an unknown model is 400 model_not_found with param model`, async () => {
    const spellings = own.flatMap((model) => [model.toUpperCase(), ` ${model}`, `${model}-x`]);
    for (const { error } of await refused(
      path,
      [...words, ...spellings].map((model) => ({ ...rest, model })),
    ))
      expect(error).toEqual({
        message: expect.stringContaining("model"),
        type: "invalid_request",
        code: "model_not_found",
        param: "model",
        details,
      });
  });
  test(`${name}: a model of another endpoint is 400 model_not_found with param model`, async () => {
    for (const { error } of await refused(
      path,
      foreign.map((model) => ({ ...rest, model })),
    ))
      expect(error).toEqual({
        message: expect.stringContaining("model"),
        type: "invalid_request",
        code: "model_not_found",
        param: "model",
        details,
      });
  });
}

test("an image body reports every violation at once, with the allowed values", async () => {
  const body = {
    model: "imgA-4",
    prompt: " ",
    size: "5:4",
    n: 5,
    quality: "ultra",
    images: ["ftp://a.example/b", url, "data:image/png;base64,AAAA"],
  };
  const [answer] = await refused("/v1/images/generations", [body]);
  const message = expect.any(String);
  expect(answer!.error).toEqual({
    message: expect.stringContaining("prompt"),
    type: "invalid_request",
    code: "invalid_request",
    param: "prompt",
    details: [
      { param: "prompt", message },
      { param: "size", message, allowed: ["1:1", "16:9", "9:16", "4:3", "3:4", "3:2", "2:3"] },
      { param: "n", message, allowed: { maximum: 4 } },
      { param: "quality", message, allowed: ["standard", "hd"] },
      { param: "images[0]", message },
      { param: "images[2]", message },
    ],
  });
});
test("a list that is too long is reported beside its invalid elements", async () => {
  const images = [url, url, url, url, url, "ftp://a.example/b"];
  expect(await violated("/v1/images/generations", { model: "imgA-4", prompt, images })).toEqual(["images", "images[5]"]);
});
test("a vidA body reports every violation at once", async () => {
  const metadata = { style: "noir", watermark: "no", private: 1, storyboard: 0, thumbnail: "yes" };
  const body = { model: "vidA-2", prompt: "x".repeat(4001), duration: 25, size: "4:3", images: [5], metadata };
  expect(await violated("/v1/videos/generations", body)).toEqual(
    ["duration", "images[0]", ...Object.keys(metadata).map((field) => `metadata.${field}`), "prompt", "size"].sort(),
  );
});
test("a vidB body reports every violation at once", async () => {
  const body = { model: "vidB-3.1-fast", prompt: "", duration: 10, size: "1:1", images: [url, url, url, url] };
  expect(await violated("/v1/videos/generations", body)).toEqual(["duration", "images", "prompt", "size"]);
});
test("a vidC body reports every violation at once, including rules between two fields", async () => {
  const image_with_roles = [{ url: "ftp://a.example/b", role: "reference" }, { role: "hero" }];
  const body = {
    model: "vidC-1-0-pro-fast",
    duration: 13,
    size: "2:3",
    images: [url],
    image_with_roles,
    metadata: { resolution: "1080p" },
  };
  expect(await violated("/v1/videos/generations", body)).toEqual(
    [
      "duration",
      "image_with_roles",
      "image_with_roles[0].role",
      "image_with_roles[0].url",
      "image_with_roles[1].role",
      "image_with_roles[1].url",
      "prompt",
      "size",
    ].sort(),
  );
});
test("a vidD body reports every violation at once", async () => {
  const metadata = { resolution: "720p", first_frame_image: "x", last_frame_image: 5, prompt_optimizer: "on", watermark: "on" };
  const body = { model: "vidD-02", prompt: 5, duration: 8, size: "1:1", metadata };
  expect(await violated("/v1/videos/generations", body)).toEqual(
    ["duration", ...Object.keys(metadata).map((field) => `metadata.${field}`), "prompt", "size"].sort(),
  );
});
test("a character body reports every violation at once", async () => {
  const body = { model: "vidA-2", url: "ftp://a.example/b", from_task: 5, timestamps: "0,9" };
  expect(await violated("/v1/videos/generations", body)).toEqual(["from_task", "timestamps", "url"]);
});
test("a remix body reports every violation at once", async () => {
  expect(await violated(remix, { model: "vidA-2-pro", size: "4:3", duration: 10 })).toEqual(["duration", "prompt", "size"]);
});
test("other violations are reported beside a missing model", async () => {
  expect(await violated("/v1/images/generations", { n: 9, size: "x" })).toEqual(["model", "n", "prompt", "size"]);
  expect(await violated("/v1/videos/generations", {})).toEqual(["model", "prompt"]);
  expect(await violated("/v1/videos/generations", { timestamps: "9" })).toEqual(["model", "timestamps", "url"]);
  expect(await violated(remix, {})).toEqual(["model", "prompt"]);
  expect(await violated("/v1/chat/completions", {})).toEqual(["messages", "model"]);
});
test("bare Base64 beside a missing model is not reported: some models accept it", async () => {
  const jpeg = Uint8Array.of(0xff, 0xd8, 0xff, 0xe0, 0, 0).toBase64();
  expect(await violated("/v1/videos/generations", { prompt, images: [jpeg] })).toEqual(["model"]);
});
