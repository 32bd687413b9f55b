// A receiver of webhooks on Cloudflare Workers: verifies the Standard Webhooks signature with WebCrypto, without a library.
// npx wrangler deploy, then npx wrangler secret put WEBHOOK_SECRET (the value of GET /v1/webhook_secret)

const maxAgeSeconds = 300;

export default {
  async fetch(request, env, context) {
    if (request.method !== "POST") return new Response(null, { status: 405, headers: { allow: "POST" } });
    const body = await request.text();
    if (!(await isSigned(request.headers, body, env.WEBHOOK_SECRET))) return new Response(null, { status: 401 });
    // The gateway waits ten seconds for the answer, so do the work after it.
    context.waitUntil(handle(JSON.parse(body), request.headers.get("webhook-id")));
    return new Response(null, { status: 204 });
  },
};

/** A webhook can arrive more than once, with the same id each time. If that matters, store the id together with your own change. */
async function handle(event, id) {
  const { status, result, error } = event.data;
  console.log(id, event.type, event.data.id, status, JSON.stringify(result ?? error));
}

/**
 * True if the secret signed this body at most five minutes ago. After a rotation there are two signatures, one of which is made with this
 * secret.
 */
async function isSigned(headers, body, secret) {
  const [id, timestamp, signatures] = ["id", "timestamp", "signature"].map((name) => headers.get(`webhook-${name}`) ?? "");
  // Written so that a timestamp that is not a number is refused too.
  if (!(Math.abs(Date.now() / 1000 - Number(timestamp)) <= maxAgeSeconds)) return false;
  const key = await crypto.subtle.importKey("raw", decode(secret.replace(/^whsec_/, "")), { name: "HMAC", hash: "SHA-256" }, false, [
    "verify",
  ]);
  const signed = new TextEncoder().encode(`${id}.${timestamp}.${body}`);
  for (const signature of signatures.split(" ")) {
    const [version, value = ""] = signature.split(",");
    if (version === "v1" && (await crypto.subtle.verify("HMAC", key, decode(value), signed))) return true;
  }
  return false;
}

/** The bytes of a Base64 text; empty for invalid Base64, which no signature matches. */
function decode(base64) {
  try {
    return Uint8Array.from(atob(base64), (character) => character.codePointAt(0));
  } catch {
    return new Uint8Array();
  }
}
