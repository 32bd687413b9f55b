/** The settings of wrangler.toml that the deployed platform relies on. */

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { unstable_readConfig } from "wrangler";
import { chosenVars } from "../../scripts/deploy/secrets.ts";
import { deployment } from "../../scripts/deploy/configuration.ts";
import { readDeployOptions } from "../../scripts/deploy/options.ts";

const toPath = (file: string) => fileURLToPath(new URL(`../../${file}`, import.meta.url));
interface Settings {
  queues: {
    consumers: { queue: string; max_concurrency?: number }[];
    producers: { binding: string; queue: string }[];
  };
  limits?: { cpu_ms?: number; subrequests?: number };
  observability?: object;
}
const read = (file: string) => unstable_readConfig({ config: toPath(file) }) as unknown as Settings;
const gateway = read("wrangler.toml");

test.each([
  "wrangler.toml",
  "src/sandbox/wrangler.toml",
  "src/console/wrangler.toml",
  "src/console/auth/wrangler.toml",
  "src/facades/openai/wrangler.toml",
  "src/facades/mcp/wrangler.toml",
  "src/marks/wrangler.toml",
  "src/operations/wrangler.toml",
  "src/payments/wrangler.toml",
])("%s: logs contain no query string, and so no signature", (file) => {
  // Read as text as well: a version of wrangler without the option would drop it.
  expect(readFileSync(toPath(file), "utf8")).toMatch(/^\[observability\]\nenabled = true\nredact_query_string = true/m);
  expect(read(file).observability).toMatchObject({
    enabled: true,
    redact_query_string: true,
    logs: { enabled: true, invocation_logs: false },
  });
});

test("the platform writes no log line for each RPC, which would cost a third of a task", () => {
  expect(gateway.observability).toMatchObject({ logs: { enabled: true, invocation_logs: false } });
});

test("traces are off until a deployment asks for a share of them, and go to the destinations that it names", () => {
  const deployed = (args: string[]) =>
    deployment("", readDeployOptions(args, {})!.choices).workers.map(({ configuration }) => configuration.observability);
  for (const settings of deployed([])) expect(settings).not.toHaveProperty("traces");
  for (const settings of deployed(["--traces", "0.05", "--traces-to", "honeycomb"]))
    expect(settings).toMatchObject({
      redact_query_string: true,
      logs: { invocation_logs: false },
      traces: { enabled: true, head_sampling_rate: 0.05, destinations: ["honeycomb"] },
    });
  for (const settings of deployed(["--traces", "0", "--traces-to", "none"])) expect(settings).toMatchObject({ traces: { enabled: false } });
  for (const share of ["5", "-1", "1e-3", "", "half"]) expect(() => deployed([`--traces=${share}`])).toThrow("is not a share of requests");
});

test("payments are deployed and bound only if they are asked for, and nothing else brings them along", () => {
  const deployed = (args: string[]) => {
    const { workers, leftOut } = deployment("staging", readDeployOptions(args, {})!.choices);
    const bound = workers.at(-1)!.configuration.services?.map(({ service }) => service);
    return { names: workers.map(({ name }) => name), bound, leftOut };
  };
  const name = "gateway-payments-staging";
  for (const args of [[], ["--with", "email"], ["--with", "none"], ["--without", "none"]]) {
    const { names, bound, leftOut } = deployed(args);
    expect([names.includes(name), bound?.includes(name), leftOut], args.join(" ")).toEqual([false, false, [name]]);
  }
  const { names, bound, leftOut } = deployed(["--with", "email,payments"]);
  expect([names.includes(name), bound?.includes(name), leftOut, names.at(-1)]).toEqual([true, true, [], "gateway-staging"]);
  expect(() => deployed(["--without", "payments"])).toThrow("payments");
});

test("on the Free plan the operations Worker knows the size of its database", () => {
  const limits = (args: string[]) => {
    const { choices } = readDeployOptions(args, {})!;
    const worker = deployment("", choices).workers.find(({ part }) => part.name === "operations")!;
    return chosenVars(worker, choices);
  };
  expect(limits(["--free"])).toEqual({ DATABASE_MAX_MB: "500", LEDGER_MAX_MB: "125" });
  expect(limits(["--no-free"])).toEqual({});
});

test("messages arrive one per batch, with the platform's full number of consumers, short and slow work in separate queues", () => {
  const work = gateway.queues.consumers.filter(({ queue }) => queue !== "gateway-dead");
  expect(work.map(({ queue }) => queue).sort()).toEqual(["gateway-dispatch", "gateway-notify", "gateway-starts"]);
  for (const consumer of work) {
    expect(consumer).toMatchObject({ max_batch_size: 1, max_batch_timeout: 0, dead_letter_queue: "gateway-dead" });
    expect(consumer.max_concurrency).toBeUndefined();
  }
  expect(gateway.queues.producers.map(({ binding, queue }) => [binding, queue])).toEqual([
    ["DISPATCH", "gateway-dispatch"],
    ["STARTS", "gateway-starts"],
    ["NOTIFY", "gateway-notify"],
  ]);
});

test("active objects finish their work on the old code for five minutes, and a deployment keeps that setting", () => {
  const withObjects = deployment("", {}).workers.filter(({ configuration }) => configuration.durable_objects);
  expect(withObjects.map(({ name }) => name)).toEqual(["gateway-sandbox", "gateway-openai", "gateway"]);
  for (const { configuration } of withObjects)
    expect(configuration.durable_objects?.code_update_strategy).toEqual({ mode: "deferred", max_delay: 300 });
});

test("every deployed Worker has the mark of its deployment, and the public one its version", () => {
  for (const { name, configuration } of deployment("staging", {}).workers) {
    expect(configuration.vars?.["DEPLOYMENT"]).toBe("gateway-staging");
    expect(configuration.version_metadata).toEqual(name === "gateway-staging" ? { binding: "VERSION" } : undefined);
  }
});

test("the CPU limit is set", () => {
  expect(gateway.limits?.cpu_ms).toBeGreaterThanOrEqual(10_000);
});

test("one invocation may read every file of the largest batch, for its archive, and the platform takes the number", () => {
  const numberIn = (file: string, name: string) =>
    Number(new RegExp(`const ${name} = ([\\d_]+);`).exec(readFileSync(toPath(file), "utf8"))?.[1]?.replaceAll("_", ""));
  const lines = numberIn("src/api/batches/lines.ts", "maxLines");
  const ofLine = numberIn("src/tasks/consumer/outputs.ts", "maxOwnFiles") + 1; // and a long text beside them
  const subrequests = gateway.limits?.subrequests ?? 10_000; // the platform's own
  expect(subrequests).toBeGreaterThan(1.1 * lines * ofLine);
  expect(subrequests).toBeLessThanOrEqual(10_000_000);
});

test("one invocation may read every change of an account since a backup of 30 days ago", () => {
  // A key may change the webhook, and a user a key, some hundred times a minute; an operator sees that within a day.
  expect(read("src/operations/wrangler.toml").limits?.subrequests).toBeGreaterThan(420 * 1_440);
});

test("the runbook's wrangler commands look at the account, not at the local state", () => {
  // Wrangler runs these locally unless they say otherwise.
  const commands = readFileSync(toPath("docs/operations.md"), "utf8").match(
    /npx wrangler (?:d1 (?:execute|export|migrations)|r2 object)[^`|]*/g,
  );
  expect(commands).toHaveLength(3);
  for (const command of commands!) expect(command).toContain(" --remote");
});
