/** What the marks Worker says about its secrets: until when it signs, or what is wrong with which secret. It never names a value. */

import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, expect, test, vi } from "vitest";
import Marks from "../../src/marks/worker.ts";

afterEach(() => vi.useRealTimers());

/** The test chain: the signing certificate, its authority, and the key. */
const { C2PA_CERTIFICATES: chain, C2PA_PRIVATE_KEY: key } = env as unknown as Required<MarksEnv>;
const [signer = "", authority = ""] = chain.match(/-----BEGIN[^-]+-----[^-]+-----END[^-]+-----/g) ?? [];

const toPem = (der: ArrayBuffer) => `-----BEGIN PRIVATE KEY-----\n${new Uint8Array(der).toBase64()}\n-----END PRIVATE KEY-----\n`;

async function newKey(namedCurve: "P-256" | "P-384"): Promise<string> {
  const made = (await crypto.subtle.generateKey({ name: "ECDSA", namedCurve }, true, ["sign", "verify"])) as CryptoKeyPair;
  return toPem((await crypto.subtle.exportKey("pkcs8", made.privateKey)) as ArrayBuffer);
}

const order = {
  binding: { kind: "data", hash: new Uint8Array(32), exclusion: { start: 33, length: 8_204 } },
  isComposite: false,
  generator: "Generation gateway",
} as const;

/** What both methods of a marks Worker with these secrets answer. */
async function ask(secrets: MarksEnv) {
  const marks = new Marks(createExecutionContext(), secrets);
  return [await marks.certificate(), await marks.sign(order)];
}

test("a valid chain with its key signs until its first certificate ends", async () => {
  const certificate = await (env as Env).SIGNER!.certificate!();
  const [ten, eleven] = [10, 11].map((years) => vi.getRealSystemTime() + years * 365 * 86_400_000);
  expect(certificate).toEqual({ ends: expect.any(Number) });
  expect((certificate as { ends: number }).ends).toBeGreaterThan(ten! - 2 * 86_400_000);
  expect((certificate as { ends: number }).ends).toBeLessThan(eleven!);
  expect(await ask({ C2PA_CERTIFICATES: chain, C2PA_PRIVATE_KEY: key })).toEqual([certificate, { manifest: expect.any(Uint8Array) }]);
  // In a file of variables a value has one line.
  const oneLine = { C2PA_CERTIFICATES: chain.replaceAll("\n", "\\n"), C2PA_PRIVATE_KEY: key.replaceAll("\n", "\\n") };
  expect(await ask(oneLine)).toEqual([certificate, { manifest: expect.any(Uint8Array) }]);
});

test.each<[string, () => Promise<MarksEnv> | MarksEnv, string]>([
  ["no chain", () => ({ C2PA_PRIVATE_KEY: key }), "C2PA_CERTIFICATES is not set"],
  ["no key", () => ({ C2PA_CERTIFICATES: chain }), "C2PA_PRIVATE_KEY is not set"],
  [
    "a chain of another form",
    () => ({ C2PA_CERTIFICATES: "MIIB", C2PA_PRIVATE_KEY: key }),
    "C2PA_CERTIFICATES contains no certificate as PEM",
  ],
  [
    "a cut certificate",
    () => ({ C2PA_CERTIFICATES: signer.replace(/\n[^-]{200}/, "\n"), C2PA_PRIVATE_KEY: key }),
    "C2PA_CERTIFICATES contains a certificate that cannot be read",
  ],
  [
    "the authority first",
    () => ({ C2PA_CERTIFICATES: `${authority}\n${signer}`, C2PA_PRIVATE_KEY: key }),
    "C2PA_CERTIFICATES must begin with the signing certificate, and begins with an authority's",
  ],
  [
    "a long chain",
    () => ({ C2PA_CERTIFICATES: [signer, ...Array.from({ length: 12 }, () => authority)].join("\n"), C2PA_PRIVATE_KEY: key }),
    "C2PA_CERTIFICATES is longer than 5120 bytes as DER: leave out the root",
  ],
  ["a key of another form", () => ({ C2PA_CERTIFICATES: chain, C2PA_PRIVATE_KEY: "MIGH" }), "C2PA_PRIVATE_KEY is not a private key as PEM"],
  [
    "a key of another curve",
    async () => ({ C2PA_CERTIFICATES: chain, C2PA_PRIVATE_KEY: await newKey("P-384") }),
    "C2PA_PRIVATE_KEY is not a key of the curve P-256",
  ],
  [
    "another key",
    async () => ({ C2PA_CERTIFICATES: chain, C2PA_PRIVATE_KEY: await newKey("P-256") }),
    "C2PA_PRIVATE_KEY is not the key of the first certificate of C2PA_CERTIFICATES",
  ],
])("%s is refused", async (_, secrets, refused) => {
  expect(await ask(await secrets())).toEqual([{ refused }, { refused }]);
});

test.each([
  ["before it begins", -1, "C2PA_CERTIFICATES is not valid yet"],
  ["after its end", 11, "C2PA_CERTIFICATES has expired"],
])("a chain is refused %s", async (_, years, refused) => {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + years * 365 * 86_400_000 });
  expect(await ask({ C2PA_CERTIFICATES: chain, C2PA_PRIVATE_KEY: key })).toEqual([{ refused }, { refused }]);
});
