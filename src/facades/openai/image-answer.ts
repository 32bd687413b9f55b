/** `{created, data, usage}` with URLs, or with the files in Base64, which are streamed because four large ones exceed what an isolate should hold. */

import type { AppContext } from "./context.ts";
import { type DryRun, filePath } from "../client.ts";
import { Base64 } from "./base64.ts";
import { answerDryRun, isDryRun } from "./submission.ts";

/** Images are charged per image, so no tokens are counted. */
export const usage = {
  total_tokens: 0,
  input_tokens: 0,
  output_tokens: 0,
  input_tokens_details: { text_tokens: 0, image_tokens: 0 },
};

/** Completed images. */
export interface Made {
  created: number;
  urls: string[];
}

export async function answerImages(c: AppContext, made: Made | DryRun, format: "url" | "b64_json"): Promise<Response> {
  if (isDryRun(made)) return answerDryRun(c, made);
  const { created, urls } = made;
  if (format === "url") return c.json({ created, data: urls.map((url) => ({ url })), usage });
  // Opened before the answer begins: a missing file can still become an error, and the gateway's API can only be called until then.
  const files = await Promise.all(urls.map((url) => c.var.gateway.ask(filePath(url))));
  const { readable, writable } = new IdentityTransformStream();
  const writer = writable.getWriter();
  const encoder = new TextEncoder();
  const write = (text: string) => writer.write(encoder.encode(text));
  const run = async () => {
    await write(`{"created":${created},"data":[`);
    for (const [at, file] of files.entries()) {
      await write(`${at > 0 ? "," : ""}{"b64_json":"`);
      const text = new Base64();
      for await (const bytes of file.body ?? []) await write(text.push(bytes));
      await write(`${text.end()}"}`);
    }
    await write(`],"usage":${JSON.stringify(usage)}}`);
    await writer.close();
  };
  // If the caller disconnects or a file ends early, abort the stream, so that an incomplete answer does not look complete.
  c.executionCtx.waitUntil(run().catch((error: unknown) => writer.abort(error).catch(() => undefined)));
  return c.body(readable, 200, { "content-type": "application/json" });
}
