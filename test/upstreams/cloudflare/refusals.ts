/** What the emulated Cloudflare refuses before anything is made, in its own words. */

import { isOrdered } from "../emulator.ts";

/** The API's own error body. */
export const refusal = (status: number, code: number, message: string, headers: Record<string, string> = {}) =>
  Response.json({ result: null, success: false, errors: [{ code, message }], messages: [] }, { status, headers });

/** Refusals that come before anything is made. */
export function refused(prompt: string, model: string): Response | undefined {
  const isHosted = model.startsWith("@cf/");
  if (isOrdered(prompt, "limit")) return refusal(429, 3040, "Capacity temporarily exceeded, please try again.", { "retry-after": "1" });
  if (prompt.includes("[only ") && !isOrdered(prompt, "only"))
    return refusal(429, 3040, "Capacity temporarily exceeded, please try again.");
  if (isOrdered(prompt, "wallet"))
    return isHosted
      ? refusal(429, 3036, "You have used up your daily free allocation of 10,000 neurons")
      : Response.json({ success: false, error: { code: "insufficient_credits", message: "no credits left" } }, { status: 400 });
  // Third-party models answer this to what their maker refuses as malformed (cloudflare/workers-sdk 14657).
  if (isOrdered(prompt, "user-error")) return refusal(400, 7003, "User Input Error");
  if (isOrdered(prompt, "unlisted")) return refusal(400, 7999, "Something else is wrong with the request");
  if (isOrdered(prompt, "http-number")) return refusal(422, 422, "Unprocessable Entity");
  if (isOrdered(prompt, "too-long"))
    return refusal(413, 5021, "The estimated number of input and maximum output tokens exceeded this model context window limit.");
  if (isOrdered(prompt, "retired")) return refusal(400, 5007, `No such model ${model} or task`);
  if (isOrdered(prompt, "broken")) return refusal(500, 3043, "Internal server error");
  if (isOrdered(prompt, "unavailable")) return refusal(503, 3047, "Service unavailable");
  if (isOrdered(prompt, "slow")) return refusal(408, 3007, "Request timeout");
  if (isOrdered(prompt, "guarded")) return refusal(424, 2016, "Prompt blocked due to security configurations");
  if (isOrdered(prompt, "misfit")) return refusal(400, 5006, "Error: required properties at '/' are 'prompt'");
  if (isOrdered(prompt, "classified")) return refusal(400, 3030, "AiError: Input prompt contains NSFW content.");
  if (isOrdered(prompt, "moderated"))
    return Response.json(
      { state: "Failed", error: { code: "provider_error", message: `400 moderation_blocked: ${prompt}` }, model },
      { status: 400 },
    );
  return undefined;
}
