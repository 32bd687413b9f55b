/** The emulated makers' calls of callback URLs, with the makers' own signatures. */

import { createHash, createHmac, randomUUID, sign } from "node:crypto";
import type { Call } from "./emulator.ts";
import { falKeys, replicateSecret } from "./keys.ts";

type Sender = "plain" | "replicate" | "fal";

const expected: { prompt: string; url: string; sender: Sender; bodies: () => object[] }[] = [];

/** Records a URL for accepted work: `bodies` are those of its calls, when the work has ended. Throws for a URL in a format that no maker accepts. */
export function expectCalls(prompt: string, url: string, sender: Sender, bodies: () => object[]): void {
  if (!url.startsWith("https://")) throw new Error(`not https: ${url}`);
  expected.push({ prompt, url, sender, bodies });
}

/** All calls for prompts that contain this, with the signatures of this time (milliseconds). */
export const callsFor = (match: string, at: number): Call[] =>
  expected
    .filter(({ prompt }) => prompt.includes(match))
    .flatMap(({ url, sender, bodies }) =>
      bodies().map((value) => {
        const body = JSON.stringify(value);
        return { url, body, headers: { "content-type": "application/json", ...signatures[sender](body, Math.floor(at / 1000)) } };
      }),
    );

const signatures: Record<Sender, (body: string, seconds: number) => Record<string, string>> = {
  plain: () => ({}),
  /** replicate.com/docs, "Verify webhooks". */
  replicate(body, seconds) {
    const id = `msg_${randomUUID()}`;
    const key = Buffer.from(replicateSecret.replace("whsec_", ""), "base64");
    const mac = createHmac("sha256", key).update(`${id}.${seconds}.${body}`).digest("base64");
    return { "webhook-id": id, "webhook-timestamp": String(seconds), "webhook-signature": `v1,${mac}` };
  },
  /** fal.ai/docs, "Webhooks", "Verifying Your Webhook". */
  fal(body, seconds) {
    const [id, user] = [randomUUID(), "github|1234"];
    const digest = createHash("sha256").update(body).digest("hex");
    const signature = sign(null, Buffer.from([id, user, seconds, digest].join("\n")), falKeys.privateKey).toString("hex");
    return {
      "x-fal-webhook-request-id": id,
      "x-fal-webhook-user-id": user,
      "x-fal-webhook-timestamp": String(seconds),
      "x-fal-webhook-signature": signature,
    };
  },
};
