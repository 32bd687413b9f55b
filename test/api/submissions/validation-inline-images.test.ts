/** Reference images, inline and by URL, for every model that accepts them: 4.2, 4.3 and 8 of the interface, section 1 of the contract. */

import { expect, test } from "vitest";
import { readBalance, call, holdTime, newAccount } from "../../support/gateway.ts";
import { expectNoTrace } from "../../support/refusal.ts";

holdTime();

interface Taker {
  model: string;
  path: string;
  /** True if Base64 without a `data:` prefix is accepted too. */
  bare: boolean;
}

const takers: Taker[] = [
  { model: "imgA-4", path: "/v1/images/generations", bare: false },
  { model: "imgB-4o-image", path: "/v1/images/generations", bare: false },
  { model: "imgC-3-pro-image-preview", path: "/v1/images/generations", bare: false },
  { model: "vidA-2", path: "/v1/videos/generations", bare: true },
  { model: "vidA-2-pro", path: "/v1/videos/generations", bare: true },
  { model: "vidB-3.1-fast", path: "/v1/videos/generations", bare: false },
  { model: "vidB-3.1-quality", path: "/v1/videos/generations", bare: false },
  { model: "vidC-1-0-pro-fast", path: "/v1/videos/generations", bare: true },
  { model: "vidC-1-0-pro-quality", path: "/v1/videos/generations", bare: true },
];
const prompt = "the same, but at night";

const base64 = (...start: (number | string)[]) => {
  const bytes = start.flatMap((item) => (typeof item === "number" ? [item] : [...new TextEncoder().encode(item)]));
  return Uint8Array.from([...bytes, ...Array<number>(24).fill(0)]).toBase64();
};
const png = base64(0x89, "PNG\r\n", 0x1a, "\n");
const jpeg = base64(0xff, 0xd8, 0xff, 0xe0);
const webp = base64("RIFF", 16, 0, 0, 0, "WEBP");
const formats = { png, jpeg, webp };
const foreign = {
  GIF: base64("GIF89a"),
  BMP: base64("BM"),
  "a RIFF file that is no WebP": base64("RIFF", 16, 0, 0, 0, "AVI "),
  "a PNG that starts wrong": base64(0x88, "PNG\r\n", 0x1a, "\n"),
  SVG: base64("<svg xmlns='http://www.w3.org/2000/svg'/>"),
  text: base64("neither image nor video"),
};
const dataUri = (data: string, type = "png") => `data:image/${type};base64,${data}`;

/** The images are accepted in one body; `told` is the answer's content in their places, never inline data. */
async function accepts(models: Taker[], images: [image: string, told: string][]): Promise<void> {
  const account = await newAccount();
  for (const { model, path } of models) {
    const answer = await call(path, { key: account.key, body: { model, prompt, images: images.map(([image]) => image) } });
    expect(answer.status, JSON.stringify([model, answer.body])).toBe(200);
    expect(answer.body.metadata.images).toEqual(images.map(([, told]) => told));
  }
}

/** Each image is refused with its index when it follows a valid one, and leaves no trace. */
async function refuses(models: Taker[], images: string[]): Promise<void> {
  const account = await newAccount();
  for (const { model, path } of models)
    for (const image of images) {
      const answer = await call(path, { key: account.key, body: { model, prompt, images: ["https://pictures.example/a.png", image] } });
      const details = [{ param: "images[1]", message: expect.any(String) }];
      const error = { type: "invalid_request", code: "invalid_request", param: "images[1]", details };
      expect({ status: answer.status, ...answer.body }, `${model} ${image}`).toMatchObject({ status: 400, error });
    }
  await expectNoTrace(account);
}

const bare = takers.filter((taker) => taker.bare);
const image = takers[0]!;
const vidC = bare.at(-1)!;

test("PNG, JPEG and WebP data URIs are accepted by every model", () =>
  accepts(
    takers,
    Object.entries(formats).map(([type, data]) => [dataUri(data, type), "inline"]),
  ));
for (const [name, data] of Object.entries(foreign))
  test(`${name} as a data URI is refused, whatever its label`, () =>
    refuses(
      takers,
      ["png", "jpeg", "gif"].map((type) => dataUri(data, type)),
    ));
test("bare Base64 is accepted by vidA and vidC", () =>
  accepts(
    bare,
    Object.values(formats).map((data) => [data, "inline"]),
  ));
test("bare Base64 is refused by other models", () =>
  refuses(
    takers.filter((taker) => !taker.bare),
    Object.values(formats),
  ));
test("public http(s) URLs are accepted and echoed", () => {
  const urls = ["https://pictures.example/a.png", "http://pictures.example/b", "https://pictures.example:443/c.jpg?size=2#top"];
  return accepts(
    takers,
    urls.map((url) => [url, url]),
  );
});
test("URLs of another scheme are refused", () =>
  refuses(takers, ["ftp://pictures.example/a.png", "file:///etc/passwd", "javascript:alert(1)"]));
test("URLs with a user or password are refused", () =>
  refuses(takers, [
    "https://user:secret@pictures.example/a.png",
    "https://user@pictures.example/a.png",
    "http://:secret@pictures.example/a.png",
  ]));
test("white space around a URL counts as part of its length", async () => {
  const url = "https://pictures.example/a.png";
  await accepts([image], [[` ${url}\n`, ` ${url}\n`]]);
  await refuses([image, vidC], [url + " ".repeat(10_000)]);
});
test("incomplete URLs are refused", () => refuses(takers, ["https://", "http://:80/a.png", "pictures.example/a.png", "/a.png?b", ""]));

test("an image's type comes from its first bytes, not from its label", () =>
  accepts(
    [image],
    [
      [dataUri(jpeg, "png"), "inline"],
      [dataUri(png, "webp"), "inline"],
      [dataUri(webp, "jpg"), "inline"],
      [dataUri(png, "gif"), "inline"],
    ],
  ));
test("text that is not Base64 is refused", () =>
  refuses(
    [image],
    ["!!!!", `${png.slice(0, 9)}*`, "iVBORw0KGgo", ""].map((data) => dataUri(data)),
  ));
test("bare text that is not Base64 is refused", () => refuses(bare, ["an image of a ship", `${png.slice(0, 9)}*`]));
test("bare Base64 of another format is refused", () => refuses(bare, Object.values(foreign)));
test("a data URI that is not Base64 or not an image is refused", () =>
  refuses(
    [image],
    [`data:image/png,${png}`, `data:text/plain;base64,${png}`, `data:;base64,${png}`, `data:video/mp4;base64,${png}`, "data:"],
  ));
test("five inline images are accepted together, and none is echoed", async () => {
  const account = await newAccount();
  const images = [dataUri(png), dataUri(jpeg, "jpeg"), "https://pictures.example/a.png", dataUri(webp, "webp"), dataUri(png)];
  const answer = await call(image.path, { key: account.key, body: { model: image.model, prompt, images } });
  expect(answer.body.metadata.images).toEqual(["inline", "inline", "https://pictures.example/a.png", "inline", "inline"]);
  const { data } = (await call(`/v1/tasks/${answer.body.id}`, { key: account.key })).body;
  expect(data.metadata).toEqual(answer.body.metadata);
  expect(JSON.stringify(data)).not.toContain("base64");
});
test("an inline image of seven megabytes is accepted", async () => {
  const bytes = new Uint8Array(7 * 1024 * 1024);
  bytes.set([0xff, 0xd8, 0xff]);
  const account = await newAccount();
  const answer = await call(image.path, { key: account.key, body: { model: image.model, prompt, images: [dataUri(bytes.toBase64())] } });
  expect(answer.status).toBe(200);
});

for (const role of ["first_frame", "last_frame", "reference"]) {
  const send = async (url: string) => {
    const account = await newAccount();
    const answer = await call(vidC.path, { key: account.key, body: { model: vidC.model, prompt, image_with_roles: [{ url, role }] } });
    return { account, answer };
  };
  test(`an image as ${role} may be a data URI or bare Base64, and is not echoed`, async () => {
    for (const url of [dataUri(webp, "webp"), jpeg]) {
      const { answer } = await send(url);
      expect(answer.status, url).toBe(200);
      expect(answer.body.metadata.image_with_roles).toEqual([{ url: "inline", role }]);
    }
  });
  test(`an image as ${role} follows the same rules`, async () => {
    for (const url of [dataUri(foreign.GIF, "png"), foreign.BMP, "ftp://pictures.example/a.png", "https://u:p@pictures.example/a.png"]) {
      const { account, answer } = await send(url);
      expect(answer, url).toMatchObject({ status: 400, body: { error: { param: "image_with_roles[0].url" } } });
      expect(await readBalance(account)).toMatchObject({ reserved: 0, used: 0 });
    }
  });
}
