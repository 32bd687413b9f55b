/** The programs on the webhooks page that verify a callback's signature. They read the secret from `WEBHOOK_SECRET`. */

const javascript = `import { createHmac, timingSafeEqual } from "node:crypto";

// headers: the request's, with names in lower case; body: its exact bytes as text
export function verify(headers, body) {
  const key = Buffer.from(process.env.WEBHOOK_SECRET.slice("whsec_".length), "base64");
  const signed = \`\${headers["webhook-id"]}.\${headers["webhook-timestamp"]}.\${body}\`;
  const expected = createHmac("sha256", key).update(signed).digest();
  const isFresh = Math.abs(Date.now() / 1000 - Number(headers["webhook-timestamp"])) < 300;
  return isFresh && headers["webhook-signature"].split(" ").some((signature) => {
    const given = Buffer.from(signature.slice("v1,".length), "base64");
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
}`;

const python = `import base64, hashlib, hmac, os, time

def verify(headers: dict, body: bytes) -> bool:
    key = base64.b64decode(os.environ["WEBHOOK_SECRET"].removeprefix("whsec_"))
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    expected = "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    fresh = abs(time.time() - int(headers["webhook-timestamp"])) < 300
    return fresh and any(hmac.compare_digest(expected, given) for given in headers["webhook-signature"].split(" "))`;

export const verifiers = [
  { id: "verify-javascript", title: "JavaScript", code: javascript },
  { id: "verify-python", title: "Python", code: python },
];
