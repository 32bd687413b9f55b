/** The refusals of the emulated Cloudflare before anything is made, in the API's words. */

import { hasDirective } from "../emulator.ts";

/** The API's own error body. */
export const refusal = (status: number, code: number, message: string, headers: Record<string, string> = {}) =>
  Response.json({ result: null, success: false, errors: [{ code, message }], messages: [] }, { status, headers });

/** Refusals before anything is made. */
export function refused(prompt: string, model: string): Response | undefined {
  const isHosted = model.startsWith("@cf/");
  if (hasDirective(prompt, "limit")) return refusal(429, 3040, "Capacity temporarily exceeded, please try again.", { "retry-after": "1" });
  if (prompt.includes("[only ") && !hasDirective(prompt, "only"))
    return refusal(429, 3040, "Capacity temporarily exceeded, please try again.");
  if (hasDirective(prompt, "wallet"))
    return isHosted
      ? refusal(429, 3036, "You have used up your daily free allocation of 10,000 neurons")
      : Response.json({ success: false, error: { code: "insufficient_credits", message: "no credits left" } }, { status: 400 });
  // Third-party models answer this when their maker refuses a request as malformed (cloudflare/workers-sdk 14657).
  if (hasDirective(prompt, "user-error")) return refusal(400, 7003, "User Input Error");
  if (hasDirective(prompt, "unlisted")) return refusal(400, 7999, "Something else is wrong with the request");
  if (hasDirective(prompt, "http-number")) return refusal(422, 422, "Unprocessable Entity");
  if (hasDirective(prompt, "too-long"))
    return refusal(413, 5021, "The estimated number of input and maximum output tokens exceeded this model context window limit.");
  if (hasDirective(prompt, "retired")) return refusal(400, 5007, `No such model ${model} or task`);
  if (hasDirective(prompt, "agreement")) return refusal(403, 5016, "User has not agreed to the model terms");
  if (hasDirective(prompt, "private")) return refusal(403, 5018, "The account is not allowed to access this model");
  if (hasDirective(prompt, "broken")) return refusal(500, 3043, "Internal server error");
  if (hasDirective(prompt, "unavailable")) return refusal(503, 3047, "Service unavailable");
  if (hasDirective(prompt, "slow")) return refusal(408, 3007, "Request timeout");
  if (hasDirective(prompt, "guarded")) return refusal(424, 2016, "Prompt blocked due to security configurations");
  if (hasDirective(prompt, "misfit")) return refusal(400, 5006, "Error: required properties at '/' are 'prompt'");
  if (hasDirective(prompt, "incomplete")) return refusal(400, 3010, "Invalid or incomplete input for the model");
  if (hasDirective(prompt, "classified")) return refusal(400, 3030, "AiError: Input prompt contains NSFW content.");
  // FLUX.2's answer to a picture that its own filter held back, as recorded by several public callers in 2026.
  if (hasDirective(prompt, "flagged"))
    return refusal(400, 3030, "AiError: AiError: Your output has been flagged. Please choose another prompt / input image combination");
  if (hasDirective(prompt, "moderated"))
    return Response.json(
      { state: "Failed", error: { code: "provider_error", message: `400 moderation_blocked: ${prompt}` }, model },
      { status: 400 },
    );
  return undefined;
}
