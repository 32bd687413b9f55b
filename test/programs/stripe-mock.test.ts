/** Stripe's own check of what payments ask: every request goes to `stripe-mock` too, which knows the paths and fields of Stripe's API and refuses others. */

import { execFile, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { startGateway } from "../../scripts/support/gateway.ts";
import { isInstalled } from "../../scripts/support/installed.ts";
import { startStripe } from "./support/stripe-server.ts";

const run = promisify(execFile);
const version = "v0.203.0";

/** Starts stripe-mock on a free port. */
async function startMock(folder: string): Promise<{ url: string; stop: () => void }> {
  await run("go", ["install", `github.com/stripe/stripe-mock@${version}`], { env: { ...process.env, GOBIN: folder, GOFLAGS: "" } });
  const mock = spawn(join(folder, "stripe-mock"), ["-http-addr", "127.0.0.1:0", "-https-addr", "127.0.0.1:0"]);
  const url = await new Promise<string>((resolve, reject) => {
    let text = "";
    mock.stdout.on("data", (part) => {
      text += String(part);
      const found = /HTTP at address: (127\.0\.0\.1:\d+)/.exec(text);
      if (found) resolve(`http://${found[1]}`);
    });
    mock.once("exit", () => reject(new Error(`stripe-mock ended: ${text}`)));
  });
  return { url, stop: () => void mock.kill() };
}

test("every request that payments send has the path and the fields of Stripe's API", { timeout: 300_000 }, async ({ skip }) => {
  if (!(await isInstalled("go"))) skip("Go is not installed");
  const folder = await mkdtemp(join(tmpdir(), "gateway-stripe-mock-"));
  const mock = await startMock(folder);
  const refused: string[] = [];
  /** Resolves with a refusal's message, else undefined. */
  const check = async (request: Request): Promise<string | undefined> => {
    const { pathname, search } = new URL(request.url);
    const body = request.method === "POST" ? await request.text() : undefined;
    const headers = { authorization: "Bearer sk_test_key", "content-type": "application/x-www-form-urlencoded" };
    const answer = await fetch(mock.url + pathname + search, { method: request.method, headers, ...(body !== undefined && { body }) });
    const text = await answer.text();
    return answer.ok ? undefined : `${request.method} ${pathname}: ${text}`;
  };
  const server = await startStripe(async (request) => {
    const problem = await check(request.clone());
    if (problem !== undefined) refused.push(problem);
    return undefined;
  });
  const { stripe } = server;
  const env = { ...server.env, STRIPE_INVOICES: "on", SIGNUP_QUOTA: "50" };
  const gateway = await startGateway({ stateDir: join(folder, "state"), quiet: true, env }).catch((error: unknown) => {
    mock.stop();
    throw error;
  });
  try {
    expect(await check(new Request("http://stripe/v1/customers", { method: "POST", body: "unknown_field=1" }))).toContain("not allowed");
    for (let more = 0; more <= 100; more++) stripe.payElsewhere();
    stripe.events.splice(0);

    const cookies: string[] = [];
    const visit = async (path: string, form?: Record<string, string>) => {
      const answer = await fetch(gateway.baseUrl + path, {
        method: form ? "POST" : "GET",
        headers: { origin: gateway.baseUrl, cookie: cookies.join("; ") },
        redirect: "manual",
        ...(form && { body: new URLSearchParams(form) }),
      });
      cookies.push(...answer.headers.getSetCookie().map((line) => line.replace(/;.*/, "")));
      return { location: answer.headers.get("location") ?? "", text: await answer.text() };
    };
    const asOperator = async (path: string, method = "GET", body?: object) => {
      const headers = { authorization: `Bearer ${gateway.adminToken}`, "content-type": "application/json" };
      const answer = await fetch(gateway.baseUrl + path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
      const text = await answer.text();
      return text === "" ? undefined : (JSON.parse(text) as { data: { id: string }[] });
    };
    const deliver = async () => {
      for (const event of stripe.events.splice(0)) {
        const { body, signature } = await stripe.sign(event);
        const headers = { "stripe-signature": signature };
        expect((await fetch(`${gateway.baseUrl}/payments/stripe`, { method: "POST", headers, body })).status).toBe(200);
      }
    };
    const cron = async () => {
      expect((await fetch(`${gateway.baseUrl}/cdn-cgi/handler/scheduled`)).status).toBe(200);
    };
    const inSession = ({ location }: { location: string }) => location.split("/").at(-1)!;

    const email = "payer@example.com";
    await visit("/console/sign-up", { name: "A payer", email, password: "correct horse battery" });
    const account = (await asOperator(`/admin/accounts?email=${email}`))?.data[0]?.id;
    const billing = "/console/billing";
    const intent = stripe.pay(inSession(await visit(`${billing}/pay`, { chosen: "10000000", other: "" })));
    stripe.refund(intent.id, 100);
    // The refund's event comes before that of its payment, which has to be looked up.
    stripe.events.reverse();
    await deliver();
    const [receipt] = /\/console\/billing\/receipts\/\w+/.exec((await visit(billing)).text) ?? [];
    expect((await visit(receipt!)).location).toContain("https://pay.stripe.com/");
    expect((await visit(`${billing}/portal`, {})).location).toContain("https://billing.stripe.com/");

    const settings = { threshold: "5", amount: "10", ceiling: "30", do: "save" };
    stripe.storeCard(inSession(await visit(`${billing}/top-up`, settings)), "declined");
    await deliver();
    expect((await visit(`${billing}/card`)).text).toContain("4242");
    await asOperator(`/admin/accounts/${account}`, "PATCH", { quota: 1 });
    await cron();
    await cron();
    expect((await visit(billing)).text).toContain("Paused:");
    await asOperator(`/admin/accounts/${account}`, "DELETE");
    await cron();

    expect(refused).toEqual([]);
    expect([...new Set(stripe.calls)].toSorted()).toEqual([
      "DELETE /v1/customers/cus",
      "GET /v1/checkout/sessions/cs",
      "GET /v1/customers",
      "GET /v1/disputes",
      "GET /v1/payment_intents",
      "GET /v1/payment_intents/pi",
      "GET /v1/payment_methods/pm",
      "GET /v1/refunds",
      "POST /v1/billing_portal/sessions",
      "POST /v1/checkout/sessions",
      "POST /v1/customers",
      "POST /v1/payment_intents",
      "POST /v1/payment_intents/pi/cancel",
    ]);
  } finally {
    await gateway.stop();
    server.close();
    mock.stop();
    await rm(folder, { recursive: true, force: true });
  }
});
