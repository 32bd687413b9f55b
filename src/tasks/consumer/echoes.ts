/** Files of an upstream's answer that are the caller's own: an upstream may repeat its input, and such a file was not made here. */

import { once } from "../../base/once.ts";
import { describeAsset, openAsset } from "../../storage/assets.ts";
import type { Output } from "../../providers/provider.ts";
import type { Submission } from "../record.ts";

type Bucket = Pick<Env, "ASSETS">["ASSETS"];

/** The outputs without those that have a URL or the very bytes of a file of the input. */
export async function withoutEchoes(
  outputs: Output[],
  { parameters, inputs }: Pick<Submission, "parameters" | "inputs">,
  bucket: Bucket,
): Promise<Output[]> {
  const given = new Set(readUrls(parameters.input));
  const others = outputs.filter(({ url }) => url === undefined || !given.has(url));
  const isCopy = findCopies(
    inputs.flatMap(({ key }) => key ?? []),
    bucket,
  );
  const made: Output[] = [];
  for (const output of others) if (!(await isCopy(output))) made.push(output);
  return made;
}

/** Every URL of an input, as outputs have them. */
function readUrls(value: unknown): string[] {
  if (typeof value === "string") return [URL.parse(value.trim())?.href ?? value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(readUrls) : [];
}

/** Whether an output has the bytes of one of these files. Only the digests of files with the output's length are computed. */
function findCopies(keys: string[], bucket: Bucket): (output: Output) => Promise<boolean> {
  const digests = new Map<string, Promise<string | undefined>>();
  const readDigest = (key: string) => {
    const digest = digests.get(key) ?? openAsset(bucket, key).then((object) => (object ? digestStream(object.body) : undefined));
    digests.set(key, digest);
    return digest;
  };
  const readSizes = once(() => Promise.all(keys.map(async (key) => (await describeAsset(bucket, key))?.size)));
  return async (output) => {
    if (keys.length === 0) return false;
    const { body, length } = await output.open();
    const sizes = await readSizes();
    const alike = keys.filter((_, at) => length === undefined || sizes[at] === length);
    if (alike.length === 0) return body.cancel().then(() => false);
    const digest = await digestStream(body);
    for (const key of alike) if ((await readDigest(key)) === digest) return true;
    return false;
  };
}

async function digestStream(body: ReadableStream<Uint8Array>): Promise<string> {
  const hash = new crypto.DigestStream("SHA-256");
  await body.pipeTo(hash);
  return new Uint8Array(await hash.digest).toHex();
}
