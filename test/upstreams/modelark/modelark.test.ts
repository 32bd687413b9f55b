/** The emulated ModelArk over HTTP, as strict as the real one: it has no client on npm to be driven with. */

import { afterAll, beforeAll, expect, test } from "vitest";
import { listen } from "../listen.ts";

let server: Awaited<ReturnType<typeof listen>>;
beforeAll(async () => void (server = await listen()));
afterAll(() => server.close());

const pictures = "/images/generations";
const films = "/contents/generations/tasks";

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

const picture = { model: "seedream-4-5-251128", prompt: "a boat" };
const film = { model: "dreamina-seedance-2-5-260628", content: [{ type: "text", text: "a boat" }] };
const frame = (role?: string) => ({ type: "image_url", image_url: { url: "https://pictures.example/a.png" }, ...(role && { role }) });

test("a picture is there at once, behind a public URL", async () => {
  const { status, body } = await ask(pictures, { ...picture, size: "2K" });
  expect(status).toBe(200);
  expect(body).toMatchObject({ model: picture.model, data: [{ size: "2K" }], usage: { generated_images: 1 } });
  expect((await fetch(body.data[0].url)).headers.get("content-type")).toBe("image/png");
});

test("a film is a task that is found by its id and in the list", async () => {
  const { body } = await ask(films, film);
  expect(body).toEqual({ id: expect.stringMatching(/^cgt-/) });
  const task = await ask(`${films}/${body.id}`);
  expect(task.body).toMatchObject({ id: body.id, status: "succeeded", error: null, content: { video_url: expect.any(String) } });
  expect((await ask(`${films}?filter.task_ids=${body.id}&page_size=1`)).body).toMatchObject({ total: 1, items: [{ id: body.id }] });
  expect((await ask(`${films}/cgt-nobody`)).status).toBe(404);
});

test.each<[string, string, object, number, string]>([
  ["no model", pictures, { prompt: "x" }, 400, "MissingParameter"],
  ["no prompt", pictures, { model: picture.model }, 400, "MissingParameter"],
  ["a retired model", pictures, { ...picture, model: "seededit-3-0-i2i-250628" }, 404, "InvalidEndpointOrModel.NotFound"],
  ["a number of pictures", pictures, { ...picture, n: 2 }, 400, "InvalidParameter"],
  ["a watermark in words", pictures, { ...picture, watermark: "no" }, 400, "InvalidParameter"],
  ["a data URI with its format in capitals", pictures, { ...picture, image: ["data:image/PNG;base64,iVBORw0K"] }, 400, "InvalidParameter"],
  [
    "sequential_image_generation on 5.0 pro",
    pictures,
    { ...picture, model: "dola-seedream-5-0-pro-260628", sequential_image_generation: "disabled" },
    400,
    "InvalidParameter",
  ],
  ["a film without content", films, { model: film.model }, 400, "MissingParameter"],
  ["three seconds", films, { ...film, duration: 3 }, 400, "InvalidParameter"],
  ["seconds as text", films, { ...film, duration: "5" }, 400, "InvalidParameter"],
  ["1080p on fast", films, { ...film, model: "dreamina-seedance-2-0-fast-260128", resolution: "1080p" }, 400, "InvalidParameter"],
  ["an unknown role", films, { ...film, content: [...film.content, frame("reference")] }, 400, "InvalidParameter"],
  ["two pictures without roles", films, { ...film, content: [...film.content, frame(), frame()] }, 400, "InvalidParameter"],
  ["frames beside references", films, { ...film, content: [frame("first_frame"), frame("reference_image")] }, 400, "InvalidParameter"],
  [
    "a picture as a bare string",
    films,
    { ...film, content: [{ ...frame("first_frame"), image_url: "https://a.example" }] },
    400,
    "InvalidParameter",
  ],
  [
    "a ratio beside a first frame on 2.5",
    films,
    { ...film, content: [frame("first_frame")], ratio: "16:9" },
    400,
    "InvalidParameter.TaskTypeConstraint",
  ],
])("refused: %s", async (_, path, body, status, code) => {
  const answer = await ask(path, body);
  expect(answer).toMatchObject({ status, body: { error: { code, message: expect.stringContaining("Request id: ") } } });
});

test("too few pixels are refused without an envelope; a wrong key with one", async () => {
  expect(await ask(pictures, { ...picture, size: "1024x1024" })).toMatchObject({
    status: 400,
    body: { code: "InvalidParameter", param: "" },
  });
  expect(await ask(pictures, picture, "wrong")).toMatchObject({ status: 401, body: { error: { code: "AuthenticationError" } } });
});
