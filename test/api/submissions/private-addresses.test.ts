/** Callers' URLs that point to private networks, in every field that accepts a URL: refused at once, and never requested. Contract 6. */

import "../../support/alone.ts";
import { expect, test, vi } from "vitest";
import { bindings } from "../../support/faults.ts";
import { readBalance, call, holdTime, newAccount } from "../../support/gateway.ts";
import { traces } from "../../support/traces.ts";

holdTime();

const images = "/v1/images/generations";
const videos = "/v1/videos/generations";
const prompt = "a harbour at night";
const strict = { ALLOW_PRIVATE_NETWORK: "off", ASSET_BASE_URL: "https://files.gateway.example" };

/** A body with the URL in one of its fields, and that field's name in the error. */
const fields: [param: string, path: string, body: (url: string) => object][] = [
  ["images[0]", images, (url) => ({ model: "imgA-4", prompt, images: [url] })],
  ["images[1]", images, (url) => ({ model: "imgB-4o-image", prompt, images: ["https://pictures.example.com/a.png", url] })],
  ["images[0]", videos, (url) => ({ model: "vidA-2", prompt, images: [url] })],
  ["images[0]", videos, (url) => ({ model: "vidB-3.1-fast", prompt, images: [url] })],
  ["image_with_roles[0].url", videos, (url) => ({ model: "vidC-1-0-pro-fast", prompt, image_with_roles: [{ url, role: "reference" }] })],
  ["metadata.first_frame_image", videos, (url) => ({ model: "vidD-02", prompt, metadata: { first_frame_image: url } })],
  ["url", videos, (url) => ({ model: "vidA-2", url, timestamps: "0,1" })],
  ["callback_url", images, (url) => ({ model: "imgA-4", prompt, callback_url: url.replace(/^http:/, "https:") })],
];

const refused = [
  "http://127.0.0.1/",
  "http://2130706433/",
  "http://0x7f000001/",
  "http://017700000001/",
  "http://0x7f.1/",
  "http://127.1/",
  "http://0/",
  "http://127.0.0.1./",
  "http://10.1.2.3/a.png",
  "http://172.16.0.1/",
  "http://192.168.1.1/",
  "http://100.64.0.1/",
  "http://169.254.169.254/latest/meta-data/",
  "http://0xa9fea9fe/",
  "http://[::]/",
  "http://[::1]/",
  "http://[fc00::1]/",
  "http://[fd12:3456::1]/",
  "http://[fe80::1]/",
  "http://[::ffff:127.0.0.1]/",
  "http://[::ffff:a9fe:a9fe]/",
  "http://[64:ff9b::7f00:1]/",
  "http://[2002:7f00:1::]/",
  "http://127\u30020\uff0e0\uff611/",
  "http://\uff11\uff12\uff17.0.0.1/",
  "http://\u2460\u2461\u2466.0.0.1/",
  "http://%31%32%37.0.0.1/",
  "http:\\\\127.0.0.1\\",
  "http://localhost/",
  "http://LOCALHOST./",
  "http://api.localhost/",
  "http://db/",
  "http://printer.local/",
  "http://metadata.google.internal/computeMetadata/v1/",
  "http://user@pictures.example.com/",
  "http://user:secret@pictures.example.com/",
  "http://pictures.example.com@127.0.0.1/",
  "http://pictures.example.com:8080/",
  "http://pictures.example.com:22/",
  "https://gateway.example/v1/models",
  "https://GATEWAY.example./v1/models",
  "https://files.gateway.example/assets/a",
  "ftp://pictures.example.com/a.png",
  "file:///etc/passwd",
  "gopher://127.0.0.1:6379/_FLUSHALL",
  "javascript:alert(1)",
  "blob:https://pictures.example.com/1",
];

test.each(fields)("%s of %s: every private address is 400 with the field's name, and leaves no trace", async (param, path, body) => {
  const account = await newAccount();
  const before = await traces();
  const fetched = vi.spyOn(globalThis, "fetch");
  const sent = vi.spyOn(bindings.queue(), "send");
  for (const url of refused) {
    const answer = await call(path, { key: account.key, body: body(url), vars: strict });
    expect({ url, ...answer }).toMatchObject({
      url,
      status: 400,
      body: { error: { message: expect.stringContaining(param), type: "invalid_request", code: "invalid_request", param } },
    });
    expect(answer.body.error.details).toEqual([expect.objectContaining({ param })]);
  }
  expect(fetched).not.toHaveBeenCalled();
  expect(sent).not.toHaveBeenCalled();
  expect(await traces()).toEqual(before);
  expect(await readBalance(account)).toEqual({ quota: 100, reserved: 0, used: 0, remaining: 100 });
});

test.each(fields)("%s of %s: a public address is accepted, and not requested before its task runs", async (_, path, body) => {
  const account = await newAccount();
  const fetched = vi.spyOn(globalThis, "fetch");
  for (const url of [
    "https://pictures.example.com/a.png",
    "http://8.8.8.8/",
    "https://[2606:4700:4700::1111]/",
    "https://b\u00fccher.example.de/",
  ])
    expect((await call(path, { key: account.key, body: body(url), vars: strict })).status, url).toBe(200);
  expect(fetched).not.toHaveBeenCalled();
});

test("private networks are refused by default unless the gateway is local; a wrong variable allows nothing", async () => {
  const { key } = await newAccount();
  const body = { model: "imgA-4", prompt, images: ["http://127.0.0.1:9000/a.png"] };
  expect((await call(images, { key, body, vars: { ENVIRONMENT: "production" } })).status).toBe(400);
  expect((await call(images, { key, body, vars: { ALLOW_PRIVATE_NETWORK: "yes" } })).status).toBe(500);
  expect((await call(images, { key, body })).status).toBe(200);
});

test("the error for a result's own URL says that this gateway's hosts are excluded", async () => {
  const { key } = await newAccount();
  const body = { model: "imgA-4", prompt, images: ["https://files.gateway.example/assets/task_1/a.png"] };
  const { details } = (await call(images, { key, body, vars: strict })).body.error;
  expect(details).toEqual([{ param: "images[0]", message: expect.stringContaining("a host on the internet other than this gateway's") }]);
});
