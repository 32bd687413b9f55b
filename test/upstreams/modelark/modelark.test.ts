/** The emulated ModelArk over HTTP, as strict as the real one: it has no client on npm to test with. */

import { afterAll, beforeAll, expect, test } from "vitest";
import { listen } from "../listen.ts";

let server: Awaited<ReturnType<typeof listen>>;
beforeAll(async () => void (server = await listen()));
afterAll(() => server.close());

const images = "/images/generations";
const videos = "/contents/generations/tasks";

async function ask(path: string, body?: object, key = "test-ark-key") {
  const response = await fetch(`${server.origin}/modelark/api/v3${path}`, {
    method: body ? "POST" : "GET",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    ...(body && { body: JSON.stringify(body) }),
  });
  // oxlint-disable-next-line typescript/no-explicit-any -- bodies are looked at field by field
  const answer: any = await response.json();
  return { status: response.status, body: answer };
}

const image = { model: "seedream-4-5-251128", prompt: "a boat" };
const video = { model: "dreamina-seedance-2-5-260628", content: [{ type: "text", text: "a boat" }] };
const frame = (role?: string) => ({ type: "image_url", image_url: { url: "https://images.example/a.png" }, ...(role && { role }) });

test("an image is returned at once, with a public URL", async () => {
  const { status, body } = await ask(images, { ...image, size: "2K" });
  expect(status).toBe(200);
  expect(body).toMatchObject({ model: image.model, data: [{ size: "2K" }], usage: { generated_images: 1 } });
  expect((await fetch(body.data[0].url)).headers.get("content-type")).toBe("image/png");
});

test("a video is a task that can be queried by its id and is in the list", async () => {
  const { body } = await ask(videos, video);
  expect(body).toEqual({ id: expect.stringMatching(/^cgt-/) });
  const task = await ask(`${videos}/${body.id}`);
  expect(task.body).toMatchObject({ id: body.id, status: "succeeded", error: null, content: { video_url: expect.any(String) } });
  expect((await ask(`${videos}?filter.task_ids=${body.id}&page_size=1`)).body).toMatchObject({ total: 1, items: [{ id: body.id }] });
  expect((await ask(`${videos}/cgt-nobody`)).status).toBe(404);
});

test.each<[string, string, object, number, string]>([
  ["no model", images, { prompt: "x" }, 400, "MissingParameter"],
  ["no prompt", images, { model: image.model }, 400, "MissingParameter"],
  ["a retired model", images, { ...image, model: "seededit-3-0-i2i-250628" }, 404, "InvalidEndpointOrModel.NotFound"],
  ["a number of images", images, { ...image, n: 2 }, 400, "InvalidParameter"],
  ["a watermark in words", images, { ...image, watermark: "no" }, 400, "InvalidParameter"],
  ["a data URI with its format in capitals", images, { ...image, image: ["data:image/PNG;base64,iVBORw0K"] }, 400, "InvalidParameter"],
  [
    "sequential_image_generation on 5.0 pro",
    images,
    { ...image, model: "dola-seedream-5-0-pro-260628", sequential_image_generation: "disabled" },
    400,
    "InvalidParameter",
  ],
  ["a video without content", videos, { model: video.model }, 400, "MissingParameter"],
  ["three seconds", videos, { ...video, duration: 3 }, 400, "InvalidParameter"],
  ["seconds as text", videos, { ...video, duration: "5" }, 400, "InvalidParameter"],
  ["1080p on fast", videos, { ...video, model: "dreamina-seedance-2-0-fast-260128", resolution: "1080p" }, 400, "InvalidParameter"],
  ["an unknown role", videos, { ...video, content: [...video.content, frame("reference")] }, 400, "InvalidParameter"],
  ["two images without roles", videos, { ...video, content: [...video.content, frame(), frame()] }, 400, "InvalidParameter"],
  ["frames beside references", videos, { ...video, content: [frame("first_frame"), frame("reference_image")] }, 400, "InvalidParameter"],
  [
    "an image as a bare string",
    videos,
    { ...video, content: [{ ...frame("first_frame"), image_url: "https://a.example" }] },
    400,
    "InvalidParameter",
  ],
  [
    "a ratio beside a first frame on 2.5",
    videos,
    { ...video, content: [frame("first_frame")], ratio: "16:9" },
    400,
    "InvalidParameter.TaskTypeConstraint",
  ],
])("refused: %s", async (_, path, body, status, code) => {
  const answer = await ask(path, body);
  expect(answer).toMatchObject({ status, body: { error: { code, message: expect.stringContaining("Request id: ") } } });
});

test("too few pixels are refused without the envelope; a wrong key with it", async () => {
  expect(await ask(images, { ...image, size: "1024x1024" })).toMatchObject({
    status: 400,
    body: { code: "InvalidParameter", param: "" },
  });
  expect(await ask(images, image, "wrong")).toMatchObject({ status: 401, body: { error: { code: "AuthenticationError" } } });
});
