/** A test with a browser: users of the console, and pages of other hosts. Every page is watched. */

import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { expect, inject, test as base } from "vitest";
import { Watch } from "./watch.ts";

/** A login. */
export interface Person {
  name: string;
  email: string;
  password: string;
}

/** A new user without an account. */
export const newPerson = (): Person => ({ name: "Ann Example", email: `ann-${randomUUID()}@example.com`, password: randomUUID() });

export const test = base
  .extend("gateway", () => inject("gateway"))
  .extend("endpoint", { scope: "worker" }, () => inject("chromium"))
  .extend("browser", { scope: "worker" }, async ({ endpoint }, { onCleanup }) => {
    const browser = await chromium.connect(endpoint);
    onCleanup(() => browser.close());
    return browser;
  })
  // Every problem that the watch found fails the test at its end.
  .extend("watch", ({ gateway }, { onCleanup }) => {
    const watch = new Watch(gateway.baseUrl);
    onCleanup(async () => expect(await watch.problems()).toEqual([]));
    return watch;
  })
  /** A new browser with an empty page. */
  .extend("visitor", ({ browser, gateway, watch }, { onCleanup }) => {
    const contexts: Awaited<ReturnType<typeof browser.newContext>>[] = [];
    onCleanup(async () => {
      await watch.problems();
      for (const context of contexts) await context.close();
    });
    return async (options: BrowserContextOptions = {}): Promise<Page> => {
      const context = await browser.newContext({
        baseURL: gateway.baseUrl,
        locale: "en-US",
        reducedMotion: "reduce",
        // Sign-in attempts are counted per network: each browser has an address of its own.
        extraHTTPHeaders: { "cf-connecting-ip": `2001:db8:${randomUUID().slice(0, 4)}:${randomUUID().slice(0, 4)}::1` },
        ...options,
      });
      contexts.push(context);
      context.setDefaultTimeout(20_000);
      const page = await context.newPage();
      await watch.over(page, { scripted: options.javaScriptEnabled ?? true });
      return page;
    };
  })
  /** The same with a new user signed up and in, on the overview. */
  .extend(
    "signedIn",
    ({ visitor, gateway }) =>
      async (options: BrowserContextOptions = {}, person: Person = newPerson()): Promise<Page> => {
        const page = await visitor(options);
        const form = { name: person.name, email: person.email, password: person.password };
        const answer = await page.request.post("/console/sign-up", { form, headers: { origin: gateway.baseUrl }, maxRedirects: 0 });
        expect(answer.status()).toBe(303);
        await page.goto("/console");
        return page;
      },
  )
  /** A page of another host with this HTML; it is not watched. */
  .extend("elsewhere", ({ browser }, { onCleanup }) => async (html = "<!doctype html><title>Elsewhere</title>"): Promise<Page> => {
    const server = createServer((_, response) => response.setHeader("content-type", "text/html").end(html)).listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    const context = await browser.newContext();
    onCleanup(async () => {
      await context.close();
      server.close();
    });
    const page = await context.newPage();
    await page.goto(`http://localhost:${(server.address() as AddressInfo).port}/`);
    return page;
  });

export { expect };
