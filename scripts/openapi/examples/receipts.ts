/** The receipt of the image, and the key that verifies it. */

import { created, ended, ids } from "./common.ts";

const sha256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

const receipt = {
  object: "generation.receipt",
  id: ids.image,
  account: ids.account,
  kind: "image",
  model: "imgA-4",
  reference: "order-1042",
  status: "completed",
  created_at: created,
  started_at: created + 1,
  ended_at: ended,
  request_sha256: "5b0d1c8a4fe27b6390c1d5a8e7f2046b9d3c8e1fa7b60452d9c3e8f1706a4b2d",
  price: { unit: "USD", version: "8d2f4c1b7a90", amounts: { image: 0.03, image_hd: 0.06 } },
  reserved: 0.03,
  charged: 0.03,
  returned: 0,
  attempts: 1,
  files: [
    {
      name: "0-1.png",
      type: "image/png",
      bytes: 1_482_913,
      sha256,
      credentials: "none",
    },
  ],
};
const signingKey = "4fT8kQz1mVbXw6yLsR2nJc9pHdGe3uAo7iKt5xZvW0E";
const jwsParts = [{ alg: "EdDSA", kid: signingKey }, receipt];
export const receiptAnswer = {
  receipt,
  jws: `${jwsParts.map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".")}.${"kQ1cV8sWm3xZr6tYb0nLpJ4hGf7dAe2uKi5oRq9wXzM".repeat(2)}`,
};
export const receiptKeys = {
  keys: [{ kty: "OKP", crv: "Ed25519", x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo", kid: signingKey, alg: "EdDSA", use: "sig" }],
};
export const verification = {
  object: "verification",
  sha256,
  kind: "image",
  type: "image/png",
  made_at: ended,
  credentials: "none",
  ai_generated: true,
};
