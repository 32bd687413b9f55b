/** Files of the Gemini API: made by a model, read with the key. */

import { refusedPoll } from "./errors.ts";
import type { GoogleSettings } from "./part.ts";
import { ask, readJson, outputAt } from "../shared/http.ts";
import { type Failed, type Output, type Pending, ProviderError, type Succeeded } from "../provider.ts";

export function geminiFiles({ key, baseUrl }: NonNullable<GoogleSettings["gemini"]>) {
  const headers = { "x-goog-api-key": key };
  return { at };

  /** The verdict on work that was delivered at this address: a file is there before it can be read. */
  async function at(uri: string): Promise<Pending | Succeeded | Failed> {
    let length: number | undefined;
    const name = isOwn(uri) ? /\/files\/([^/:?]+)/.exec(uri)?.[1] : undefined;
    if (name !== undefined) {
      const response = await ask(globalThis, `${baseUrl}/v1beta/files/${name}`, { headers });
      // The key was good a moment ago: 403 is how a file is told that is gone.
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

  /**
   * A file behind the key, which goes to Google's own host alone: a redirect elsewhere is followed without it. With the length that the
   * Files API tells, half a file is found out however its transfer ended.
   */
  function ownFile(uri: string, length: number | undefined): Output {
    return {
      async open() {
        const known = length !== undefined && { length };
        let url = uri;
        for (let hops = 0; hops < 5; hops++) {
          if (!isOwn(url)) return { ...(await outputAt(url).open()), ...known };
          const response = await ask(globalThis, url, { headers, redirect: "manual" });
          const location = response.headers.get("location");
          if (response.status >= 300 && response.status < 400 && location) {
            await response.body?.cancel();
            url = new URL(location, url).href;
            continue;
          }
          if (response.ok && response.body) return { body: response.body, type: "video/mp4", ...known };
          await response.body?.cancel();
          const { status } = response;
          throw new ProviderError(`output: ${status}`, { retryable: status === 429 || status >= 500 });
        }
        throw new ProviderError("output: too many redirects", { retryable: false });
      },
    };
  }
}
