/** The console's page of destinations: adding, replacing, testing and deleting buckets. */

import { expect, test } from "vitest";
import { accessKeyId, buckets, origin, secretAccessKey } from "../../support/bucket.ts";
import { alarm, call, finish, holdTime } from "../../support/gateway.ts";
import { person as shopper, readForm, run } from "../playground/support.ts";
import { person } from "../support.ts";

holdTime();

const page = "/console/destinations";
const filled = {
  name: "shop",
  endpoint: origin,
  bucket: "media",
  region: "eu-central-1",
  access_key_id: accessKeyId,
  secret_access_key: secretAccessKey,
  prefix: "",
};

test("a destination is added, shown without its secret, replaced and deleted", async () => {
  const { browser } = await person();
  expect(await browser.read(page)).toContain("No destination yet");
  expect((await browser.ask(page, filled)).headers.get("location")).toBe(`${page}?done=saved`);
  const html = await browser.read(page);
  expect(html).toContain("s3://media/");
  expect(html).not.toContain(secretAccessKey);
  const change = await browser.read(`${page}?change=shop`);
  expect(change).toContain("Replace the destination");
  expect(change).toMatch(/name="name"[^>]*readonly/);
  expect(change).toContain(`value="${accessKeyId}"`);
  expect(change).not.toContain(secretAccessKey);
  expect((await browser.ask(page, { ...filled, prefix: "a/" })).status).toBe(303);
  expect(await browser.read(page)).toContain("s3://media/a/");
  const { browser: stranger } = await person();
  for (const place of ["test", "delete"]) expect((await stranger.ask(`${page}/shop/${place}`, {})).status).toBe(404);
  expect(await browser.read(`${page}/shop/delete`)).toContain("Delete the destination shop?");
  expect((await browser.ask(`${page}/shop/delete`, {})).headers.get("location")).toBe(`${page}?done=deleted`);
  expect(await browser.read(page)).toContain("No destination yet");
});

test("a refused form keeps what was typed, except the secret, with each error at its field", async () => {
  const { browser } = await person();
  const cases = [
    [{ name: "Shop" }, "name"],
    [{ endpoint: "https://s3.example.com/path" }, "endpoint"],
    [{ bucket: "UPPER" }, "bucket"],
    [{ secret_access_key: "" }, "secret_access_key"],
  ] as const;
  for (const [fields, field] of cases) {
    const answer = await browser.ask(page, { ...filled, ...fields });
    expect(answer.status).toBe(400);
    const html = await answer.text();
    expect(html).toMatch(new RegExp(`id="f-${field}"[^>]*aria-invalid="true"`));
    expect(html).toContain(`href="#f-${field}"`);
    expect(html).not.toContain(secretAccessKey);
    expect(html).toContain(`value="${accessKeyId}"`);
  }
  expect(await browser.read(page)).toContain("No destination yet");
});

test("the test button tells the outcome of each step", async () => {
  const { browser } = await person();
  await browser.ask(page, filled);
  const { at } = buckets([origin]);
  const good = await (await browser.ask(`${page}/shop/test`, {})).text();
  expect(good).toContain("shop works");
  for (const step of ["Write", "Read", "Delete"]) expect(good).toMatch(new RegExp(`${step}: ✓`));
  for (const bucket of Object.values(at)) bucket.mode = "forbidden";
  const bad = await (await browser.ask(`${page}/shop/test`, {})).text();
  for (const words of ["shop does not work yet", "Write: HTTP 403 AccessDenied", "s3:PutObject"]) expect(bad).toContain(words);
  expect(bad).not.toContain("Secret details");
  for (const bucket of Object.values(at)) bucket.mode = "dead";
  expect(await (await browser.ask(`${page}/shop/test`, {})).text()).toContain("Write: no connection");
});

test("a run of the playground is delivered to the chosen destination; the task's page shows how, and delivers it again", async () => {
  const { browser, account } = await shopper();
  expect((await readForm(browser, "imgA-4")).values).not.toHaveProperty("deliver_to");
  expect((await browser.ask(page, filled)).status).toBe(303);
  const { at } = buckets([origin]);
  const typed = { prompt: "to the shop", deliver_to: "shop" };
  const plain = await run(browser, account, "imgA-4", { prompt: "kept here", deliver_to: "" });
  expect(plain.submission.deliverTo).toBeUndefined();
  const { id, submission } = await run(browser, account, "imgA-4", typed);
  expect(submission.deliverTo).toEqual({ destination: "shop" });
  const form = await browser.read(`/console/playground?from=${id}`);
  expect(form).toMatch(/<select[^>]*name="deliver_to".*<option value="shop" selected/s);
  await finish(account, id);
  Object.assign(at[origin] ?? {}, { mode: "forbidden" });
  await alarm(id);
  const task = `/console/tasks/${id}`;
  const waiting = await browser.read(task);
  expect(waiting).toMatch(/Delivery.*Again in 1 min.*Deliver now.*Deliver to: shop.*HTTP 403 AccessDenied/s);
  expect((await browser.ask(`${task}/delivery`, {})).headers.get("location")).toBe(`${task}#delivery`);
  Object.assign(at[origin] ?? {}, { mode: "works" });
  await alarm(id);
  await alarm(id);
  const delivered = await browser.read(task);
  expect(delivered).toMatch(/Delivered.*Deliver again/s);
  expect(delivered).toContain(`${origin}/media/${id}/1.png`);
  at[origin]?.objects.clear();
  await browser.ask(`${task}/delivery`, {});
  expect(await browser.read(task)).toMatch(/id="delivery".*Delivering/s);
  await alarm(id);
  expect([...(at[origin]?.objects.keys() ?? [])]).toEqual([`${id}/1.png`]);
  // The same request again goes to the same bucket.
  const [, key = ""] = /action="[^"]*\/again".*?name="key" value="([^"]*)"/s.exec(delivered) ?? [];
  const again = (await browser.ask(`${task}/again`, { key })).headers.get("location")!;
  const { body } = await call(`/v1/tasks/${again.split("/").at(-1)}`, { key: account.key });
  expect(body.data.delivery).toMatchObject({ status: "pending" });
  // Neither a task without delivery nor a stranger's has the button.
  expect(await browser.read(`/console/tasks/${plain.id}`)).not.toContain("Deliver again");
  const { browser: stranger } = await person();
  expect((await stranger.ask(`${task}/delivery`, {})).status).toBe(404);
});
