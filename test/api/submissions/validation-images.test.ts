/** Image bodies at both sides of every limit: 4.2 and 8 of the interface, section 1 of the contract. */

import { expect, test } from "vitest";
import { accepting, each, ofModels, refusing, type Row, urls } from "../../support/bodies.ts";
import { call, holdTime, newAccount } from "../../support/gateway.ts";

holdTime();

const path = "/v1/images/generations";
const prices = { "imgA-4": 0.03, "imgB-4o-image": 0.04, "imgC-3-pro-image-preview": 0.12 };
const ratios = ["1:1", "16:9", "9:16", "4:3", "3:4", "3:2", "2:3"];
const prompt = "a lighthouse at dusk";
const defaults = { kind: "image", prompt, size: "1:1", n: 1, quality: "standard" };

const accepts = accepting(path);
const refuses = refusing(path);

/** The body for each of the three models, at `times` times its price. */
const rows = (body: object, times = 1) =>
  Object.entries(prices).map(([model, price]): Row => [{ model, prompt, ...body }, { ...defaults, ...body }, times * price]);
/** The body is refused by each of the three models. */
const refused = (param: string, bodies: object[]) => refuses(param, ofModels(Object.keys(prices), prompt, bodies));

test("the defaults are size 1:1, n 1, quality standard", () => accepts(rows({})));
test("the seven ratios are accepted", () => accepts(each("size", ratios).flatMap((body) => rows(body))));
test("other sizes are refused", () => refused("size", each("size", ["21:9", "1:2", "1024x1024", "1:1 ", "", 1, ["1:1"]])));
test("n 1 to 4 is accepted, at the price of n images", () => accepts([1, 2, 3, 4].flatMap((n) => rows({ n }, n))));
test("n 0, n 5, fractions and strings are refused", () => refused("n", each("n", [0, 5, -1, 2.5, "2", true, [2], {}])));
test("a number that is too large for numbers is not called something else", async () => {
  const { key } = await newAccount();
  const sent = (n: string) => call(path, { key, body: `{"model":"imgA-4","prompt":"a pier","n":${n}}` });
  for (const n of ["1e400", "-1e400"])
    expect((await sent(n)).body.error).toMatchObject({ param: "n", message: "n: is beyond the range of numbers" });
});
test("hd costs twice as much", () =>
  accepts([...rows({ quality: "standard" }), ...rows({ quality: "hd" }, 2), ...rows({ quality: "hd", n: 4 }, 8)]));
test("another quality is refused", () => refused("quality", each("quality", ["HD", "low", "", 1, true])));
test("a prompt of 1000 code points is accepted", () =>
  accepts(["x", "x".repeat(1000), "灯".repeat(1000), "🦊".repeat(1000)].flatMap((text) => rows({ prompt: text }))));
test("a prompt of 1001 code points is refused", () =>
  refused("prompt", each("prompt", ["x".repeat(1001), "灯".repeat(1001), "🦊".repeat(1001)])));
test("a prompt of white space only is refused", () => refused("prompt", each("prompt", ["", " ", "\n\t\r ", "\u3000\u00a0"])));
test("a body without prompt is refused", () => refused("prompt", each("prompt", [undefined, null])));
test("a prompt that is not a string is refused", () => refused("prompt", each("prompt", [5, true, ["a"], { text: "a" }])));
test("5 reference images are accepted", () => accepts([0, 1, 5].flatMap((count) => rows({ images: urls(count) }))));
test("6 reference images are refused", () => refused("images", [{ images: urls(6) }]));
test("images must be an array", () => refused("images", each("images", [{ url: "https://pictures.example/a.png" }, 5, true, urls(1)[0]])));
test("an image must be a string; the error names its index", () => refused("images[1]", each("images", [[urls(1)[0], 5]])));

const model = "imgA-4";

test("the alias has its model's name and price", async () => {
  const account = await newAccount();
  const { status, body } = await call(path, { key: account.key, body: { model: "imgC-alias-pro", prompt, quality: "hd" } });
  expect(status).toBe(200);
  expect(body).toMatchObject({ model: "imgC-3-pro-image-preview", metadata: { ...defaults, quality: "hd", reserved: 0.24 } });
});

test("null counts as absent", () => accepts([[{ model, prompt, size: null, n: null, quality: null, images: null }, defaults, 0.03]]));
test("unknown fields are ignored and not echoed", () =>
  accepts([[{ model, prompt, seed: 7, duration: "long", metadata: { style: 5 }, url: 5, image_with_roles: 5 }, defaults, 0.03]]));

test("a number beyond every integer gets the error of the field's own limit", async () => {
  const account = await newAccount();
  const { body } = await call(path, { key: account.key, body: { model, prompt, n: 1e300 } });
  expect(body.error.details).toEqual([{ param: "n", message: expect.stringContaining("4"), allowed: { maximum: 4 } }]);
});
test("a text or a fraction in place of an integer is refused with the message that an integer is expected", async () => {
  const { key } = await newAccount();
  for (const n of ["2", 2.5])
    expect((await call(path, { key, body: { model, prompt, n } })).body.error.message).toBe("n: must be of type integer");
});
test("a list that is too long is reported beside its invalid elements", async () => {
  const account = await newAccount();
  const { body } = await call(path, { key: account.key, body: { model, prompt, images: [...urls(5), 5] } });
  expect(body.error.details.map(({ param }: { param: string }) => param).sort()).toEqual(["images", "images[5]"]);
});
