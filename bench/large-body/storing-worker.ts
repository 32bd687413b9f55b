/** Stores an upstream's file in R2, with the gateway's code or with a bare `put`; or only hashes as many bytes. */

import { type Asset, storeFile } from "../../src/assets.ts";
import { toPieces } from "../../src/tasks/outputs.ts";

/** SHA-256 of as many bytes in memory, in pieces like the gateway's. */
async function hash(length: number): Promise<void> {
  const digest = new crypto.DigestStream("SHA-256");
  const writer = digest.getWriter();
  const piece = new Uint8Array(4_000_000);
  for (let at = 0; at < length; at += piece.byteLength) await writer.write(piece.subarray(0, length - at));
  await writer.close();
  await digest.digest;
}

export default {
  async fetch(request: Request, { ASSETS }: Env): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === "/hash") {
      const length = Number(searchParams.get("length"));
      await hash(length);
      return new Response(String(length));
    }
    const { body, headers } = await fetch(searchParams.get("from")!);
    const length = Number(headers.get("content-length"));
    const type = "video/mp4";
    const stored: Pick<Asset, "bytes"> =
      pathname === "/gateway"
        ? await storeFile(ASSETS, "gateway", toPieces(body!, length), { type, length, maxBytes: length })
        : { bytes: (await ASSETS.put("bare", body, { httpMetadata: { contentType: type } })).size };
    return new Response(String(stored.bytes));
  },
};
