/** Files of the Gemini API: made by a model, read with the key. */

import { refusedPoll } from "./errors.ts";
import type { GoogleSettings } from "./part.ts";
import { ask, outputAt, outputBehindKey, readJson } from "../shared/http.ts";
import { type Failed, type Output, type Pending, ProviderError, type Succeeded } from "../provider.ts";

export function geminiFiles({ key, baseUrl }: NonNullable<GoogleSettings["gemini"]>) {
  const headers = { "x-goog-api-key": key };
  return { at };

  /** Returns the verdict on work delivered at this URL: a file exists before it can be read. */
  async function at(uri: string): Promise<Pending | Succeeded | Failed> {
    let length: number | undefined;
    const name = isOwn(uri) ? /\/files\/([^/:?]+)/.exec(uri)?.[1] : undefined;
    if (name !== undefined) {
      const response = await ask(globalThis, `${baseUrl}/v1beta/files/${name}`, { headers });
      // The key was accepted a moment ago: here 403 means that the file is gone.
      if ([400, 403, 404].includes(response.status)) {
        await response.body?.cancel();
        return { status: "failed", code: "provider_error" };
      }
      if (!response.ok) return refusedPoll(response);
      const { state, sizeBytes } = (await readJson<{ state?: string; sizeBytes?: string | number }>(response)) ?? {};
      if (Number(sizeBytes) > 0) length = Number(sizeBytes);
      if (state === "PROCESSING") return { status: "pending", pollAfterMs: 2_000 };
      if (state === "FAILED") return { status: "failed", code: "provider_error" };
    }
    return { status: "succeeded", outputs: [isOwn(uri) ? ownFile(uri, length) : outputAt(uri)] };
  }

  function isOwn(uri: string): boolean {
    return URL.parse(uri)?.origin === new URL(baseUrl).origin;
  }

  /** A file behind the key. With the length that the Files API reports, a file that breaks off is detected however its transfer ended. */
  function ownFile(uri: string, length: number | undefined): Output {
    const file = outputBehindKey(uri, headers);
    return {
      async open() {
        const opened = await file.open().catch((error: unknown) => {
          // The key was accepted a moment ago: here 403 means that the file is gone.
          throw error instanceof ProviderError && error.account ? new ProviderError("unclear", error.message) : error;
        });
        return { ...opened, type: "video/mp4", ...(length !== undefined && { length }) };
      },
    };
  }
}
