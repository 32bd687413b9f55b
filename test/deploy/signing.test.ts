/** `--marks eu`: the deployment takes the operator's certificate and key from a terminal or the environment, and the deployed Workers sign with them. */

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { newTestChain } from "../../scripts/support/test-chain.ts";
import { type Cloud, startCloud } from "./cloud.ts";

let cloud: Cloud;
let chain: Awaited<ReturnType<typeof newTestChain>>;
let other: typeof chain;
beforeAll(async () => {
  [cloud, chain, other] = await Promise.all([startCloud(), newTestChain(), newTestChain()]);
  for (const [name, { C2PA_CERTIFICATES, C2PA_PRIVATE_KEY }] of Object.entries({ chain, other })) {
    await writeFile(join(cloud.checkout, `${name}.pem`), C2PA_CERTIFICATES);
    await writeFile(join(cloud.checkout, `${name}-key.pem`), C2PA_PRIVATE_KEY);
    await writeFile(
      join(cloud.checkout, `${name}.env`),
      `C2PA_CERTIFICATES='${C2PA_CERTIFICATES}'\nC2PA_PRIVATE_KEY='${C2PA_PRIVATE_KEY}'\n`,
    );
  }
});
afterAll(() => cloud.stop());

const note =
  'MARKS is sign, and C2PA_CERTIFICATES and C2PA_PRIVATE_KEY are not set: files without a manifest are stored unsigned, answers say "none"';
const askedChain = "File with the certificate chain";
const askedKey = "File with its private key: ";
const readSecrets = (name: string) => Object.fromEntries(cloud.account.workers.get(name)?.secrets ?? []);

/** No log and no output has a line of the keys. */
async function expectHidden(output: string): Promise<void> {
  const text = `${output}${await cloud.logs()}`;
  for (const { C2PA_PRIVATE_KEY } of [chain, other]) expect(text).not.toContain(C2PA_PRIVATE_KEY.split("\n")[1]);
}

/** Who signed an image that the deployed Workers make for this key. */
async function readCredentials(apiKey: string): Promise<string> {
  const made = await cloud.runtime.fetch(
    "gateway",
    new Request("https://gateway.acme.workers.dev/v1/images/generations?wait=60", {
      method: "POST",
      headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "imgA-4", prompt: "A lighthouse" }),
    }),
  );
  const { result } = (await made.json()) as { result: { images: { credentials: string }[] } };
  return result.images.map(({ credentials }) => credentials).join();
}

test("without a certificate the plan says what happens to files, and asks nothing in a dry run", async () => {
  const { code, output } = await cloud.onTerminal("deploy", ["--dry-run", "--marks", "eu"], []);
  expect([code, output]).toEqual([0, expect.stringContaining(note)]);
  expect(output).toContain('docs/deploy.md, "Signing files"');
  expect(output).not.toContain(askedChain);
  const left = await cloud.npm("deploy", ["--dry-run", "--marks", "eu", "--without", "marks"]);
  expect(left.output).toContain("MARKS is sign, and the Worker marks is left out: files without a manifest are stored unsigned");
});

test("a terminal asks for chain and key until they sign, or goes on without them", async () => {
  const without = await cloud.onTerminal(
    "deploy",
    ["--marks", "eu"],
    [
      [askedChain, ""],
      ["Go on? [y/N]", "n"],
    ],
  );
  expect([without.code, without.output]).toEqual([1, expect.stringContaining(note)]);
  expect(cloud.account.names()).toEqual([]);

  const { code, output } = await cloud.onTerminal(
    "deploy",
    ["--marks", "eu"],
    [
      [askedChain, "missing.pem"],
      [askedKey, "chain-key.pem"],
      [askedChain, "chain.pem"],
      [askedKey, "other-key.pem"],
      [askedChain, "chain.pem"],
      [askedKey, "chain-key.pem"],
      ["Go on? [y/N]", "y"],
    ],
  );
  expect([code, output]).toEqual([0, expect.stringContaining("gateway is up at https://gateway.acme.workers.dev")]);
  expect(output).toContain("no such file or directory, open 'missing.pem'");
  expect(output).toContain("C2PA_PRIVATE_KEY is not the key of the first certificate of C2PA_CERTIFICATES.");
  expect(readSecrets("gateway-marks")).toEqual(chain);
  for (const name of cloud.account.workers.keys())
    if (name !== "gateway-marks") expect(readSecrets(name)).not.toHaveProperty("C2PA_PRIVATE_KEY");
  await expectHidden(output);
  expect(await readCredentials(/^API_KEY=(sk-\w+)$/m.exec(output)?.[1] ?? "")).toBe("gateway");
});

test("secrets that are set are not asked for again, and the environment replaces them", async () => {
  const again = await cloud.onTerminal("deploy", [], [["Go on? [y/N]", "n"]]);
  expect([again.code, again.output]).toEqual([1, expect.not.stringContaining("MARKS is sign")]);
  expect(again.output).not.toContain(askedChain);
  const renewed = await cloud.npm("deploy", ["--yes"], other);
  expect([renewed.code, renewed.output]).toEqual([0, expect.not.stringContaining("MARKS is sign")]);
  expect(readSecrets("gateway-marks")).toEqual(other);
  await expectHidden(renewed.output);
});

test("a chain whose key is another one's stops the run before anything is changed", async () => {
  const before = JSON.stringify(cloud.account.snapshot());
  const { code, output } = await cloud.npm("deploy", ["--yes"], { ...chain, C2PA_PRIVATE_KEY: other.C2PA_PRIVATE_KEY });
  expect([code, output]).toEqual([
    1,
    expect.stringContaining("C2PA_PRIVATE_KEY is not the key of the first certificate of C2PA_CERTIFICATES.\n→ Correct the value"),
  ]);
  expect(JSON.stringify(cloud.account.snapshot())).toBe(before);
  await expectHidden(output);
});
