/** A program that uses the package, run by test/packages. */

import { readFileSync } from "node:fs";
import { connect, download, GatewayError, submitAndWait, TaskFailed, verifyCallback, verifyReceipt } from "generation-gateway-client";

const { GATEWAY_URL: baseUrl = "", GATEWAY_KEY: apiKey = "" } = process.env;
const samples = JSON.parse(readFileSync("samples.json", "utf8"));
const client = connect({ baseUrl, apiKey });

const body = { model: "imgA-4" as const, prompt: `A lighthouse ${crypto.randomUUID()}`, n: 2 };
const idempotencyKey = crypto.randomUUID();
const seen: number[] = [];
const image = await submitAndWait(client, { image: body }, { idempotencyKey, onProgress: ({ progress }) => seen.push(progress) });
if (seen.at(-1) !== 100) throw new Error(`progress ended at ${seen.at(-1)}`);
const again = await submitAndWait(client, { image: body }, { idempotencyKey });
const files = await download(image);

const video = await submitAndWait(client, { video: { model: "vidA-2", prompt: "A lighthouse" } });
const [film] = await download(video);

const refused = await submitAndWait(client, { image: { ...body, n: 9, size: "5:4" as "1:1" } }).catch((error: unknown) => error);
if (!(refused instanceof GatewayError)) throw refused;
const failed = await submitAndWait(client, { image: { ...body, prompt: "sandbox:flag" } }).catch((error: unknown) => error);
if (!(failed instanceof TaskFailed)) throw failed;

const headers = new Headers(samples.headers);
const callback = await verifyCallback(samples.secret, headers, samples.body);
const forgedCallback = await verifyCallback(samples.secret, headers, `${samples.body} `).then(
  () => "taken",
  () => "refused",
);
const receipt = await verifyReceipt<{ id: string }>(samples.answer, samples.jwks);
const changed = { ...samples.answer, receipt: { ...samples.answer.receipt, charged: 0 } };
const forgedReceipt = await verifyReceipt(changed, samples.jwks).then(
  () => "taken",
  () => "refused",
);

console.log(
  JSON.stringify({
    image: { status: image.status, charged: image.cost.charged, types: files.map(({ type }) => type) },
    again: again.id === image.id,
    video: { duration: video.result && "videos" in video.result && video.result.videos[0].duration, bytes: film.bytes.length > 10_000 },
    refused: {
      status: refused.status,
      params: (refused.body as { error: { details: { param: string }[] } }).error.details.map(({ param }) => param).sort(),
    },
    failed: failed.task.error?.code,
    callback: callback.type,
    forgedCallback,
    receipt: receipt.id,
    forgedReceipt,
  }),
);
