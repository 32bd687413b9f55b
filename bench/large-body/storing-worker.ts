/** Stores an upstream's file in R2, with the gateway's code or with a bare `put`. */

import { type Asset, storeFile } from "../../src/assets.ts";
import { toPieces } from "../../src/tasks/outputs.ts";

export default {
  async fetch(request: Request, { ASSETS }: Env): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
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
