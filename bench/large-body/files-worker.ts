/**
 * The gateway, and beside it bare calls of the same bucket. `PUT /bare/{key}` stores a file and returns its signed URL, `GET` reads a range of
 * it; `/store/{way}?from=` stores an upstream's file with the gateway's code or with a bare `put`, or only hashes as many bytes.
 */

import { signedUrl } from "../../src/signing/asset-urls.ts";
import { buildManifest } from "../../src/marks/manifest.ts";
import type { SignOrder } from "../../src/media/file-binding.ts";
import { storeFile } from "../../src/storage/assets.ts";
import { Marks } from "../../src/tasks/consumer/marks.ts";
import { maxPartedPieceBytes, toPieces } from "../../src/tasks/consumer/outputs.ts";
import gateway from "../../src/worker.ts";

export * from "../../src/worker.ts";

/** Any value of the right form: the digest is signed and passed on, not compared with the file. */
const digest = "A".repeat(43);
const type = "video/mp4";

/** SHA-256 of as many bytes in memory, in pieces like the gateway's. */
async function hash(length: number): Promise<void> {
  const stream = new crypto.DigestStream("SHA-256");
  const writer = stream.getWriter();
  const piece = new Uint8Array(4_000_000);
  for (let at = 0; at < length; at += piece.byteLength) await writer.write(piece.subarray(0, length - at));
  await writer.close();
  await stream.digest;
}

/** A chain and key for signatures: `C2PA_CERTIFICATES` and `C2PA_PRIVATE_KEY` as PEM. */
type SigningEnv = Env & { C2PA_CERTIFICATES: string; C2PA_PRIVATE_KEY: string };

const toDer = (pem: string) =>
  Array.from(pem.matchAll(/-----BEGIN[^-]+-----([^-]+)-----END/g), ([, text = ""]) => Uint8Array.fromBase64(text));

let credential: Promise<Parameters<typeof buildManifest>[1]> | undefined;

/** What the marks Worker does, in this isolate. Reading the secrets is left out: it happens once in an isolate. */
async function sign(order: SignOrder, { C2PA_CERTIFICATES: chain, C2PA_PRIVATE_KEY: pem }: SigningEnv) {
  credential ??= crypto.subtle
    .importKey("pkcs8", toDer(pem)[0]!, { name: "ECDSA", namedCurve: "P-256" }, false, ["sign"])
    .then((key) => ({ certificates: toDer(chain), key, notBefore: 0, notAfter: Infinity }));
  return { manifest: await buildManifest(order, await credential, new Date()) };
}

const task = { id: "task_bench", submission: { model: "bench", inputs: [], characters: [] } };

/** Stores a file of this type as the gateway does with `MARKS=sign`. */
async function storeSigned(way: string, query: URLSearchParams, env: SigningEnv): Promise<number> {
  const length = Number(query.get("length"));
  const fileType = query.get("type")!;
  const { body } = await fetch(query.get("from")!);
  const marks = new Marks(task, { ...env, MARKS: "sign", SIGNER: { sign: (order: SignOrder) => sign(order, env) } });
  const pieces = toPieces(body!, length, fileType === type ? maxPartedPieceBytes : undefined);
  const passing = await marks.sign({ body: pieces, length }, fileType);
  const { bytes } = await storeFile(env.ASSETS, way, passing.body, { type: fileType, length: passing.length, maxBytes: 2 * length });
  if (!passing.isSigned()) throw new Error("the file is not signed");
  return bytes;
}

/** Returns the number of bytes. */
async function store(way: string, query: URLSearchParams, env: SigningEnv): Promise<number> {
  if (way === "signed" || way === "signed-image") return storeSigned(way, query, env);
  const { ASSETS } = env;
  const length = Number(query.get("length"));
  if (way === "hash") {
    await hash(length);
    return length;
  }
  const { body } = await fetch(query.get("from")!);
  if (way === "gateway" || way === "image")
    return (await storeFile(ASSETS, way, toPieces(body!, length), { type, length, maxBytes: length })).bytes;
  return (await ASSETS.put(way, body, { httpMetadata: { contentType: type } })).size;
}

export default {
  ...gateway,
  async fetch(request: Request, env: SigningEnv, ctx: ExecutionContext): Promise<Response> {
    const { pathname, origin, searchParams } = new URL(request.url);
    const [, first = "", ...rest] = pathname.split("/");
    const key = rest.join("/");
    if (first === "store") return new Response(String(await store(key, searchParams, env)));
    if (first !== "bare") return gateway.fetch(request, env, ctx);
    if (request.method === "PUT") {
      await env.ASSETS.put(key, request.body, { httpMetadata: { contentType: type } });
      return new Response(await signedUrl(origin, env.ASSET_SIGNING_SECRET ?? "", { key, digest }, Date.now() + 3_600_000));
    }
    const file = await env.ASSETS.get(key, { range: request.headers });
    return new Response(file?.body, { status: 206, headers: { "content-type": type } });
  },
};
