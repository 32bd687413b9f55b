/** The first request that a newcomer sends, in four lines of curl: the same on the landing page, in the guides, in the README and of `npm start`. */

/** The shell takes the key from the environment. */
const fromEnvironment = "$API_KEY";

/** `base` is the gateway's URL; `key` may be a whole or a shortened one. */
export const firstCurl = (base: string, key: string = fromEnvironment): string => `curl "${base}/v1/images/generations?wait=60" \\
  -H "Authorization: Bearer ${key}" \\
  --json '{"model": "imgA-4", "size": "16:9",
           "prompt": "A lighthouse at dawn"}'`;
