/** Veo on Vertex AI: access tokens for signed assertions, and long-running operations whose answer contains the video. */

import { verify } from "node:crypto";
import { type Context, Hono } from "hono";
import { Dropped, hasDirective, record } from "../emulator.ts";
import { makeFile, videoBytes } from "../files.ts";
import { answerTo, checkImage, errorInfo, invalid, obeyAtStart, oneOf, onlyFields, Refused } from "./errors.ts";
import { serviceAccountPublicKey } from "../keys.ts";

const models = new Set(["veo-3.1-generate-001", "veo-3.1-fast-generate-001", "veo-3.1-lite-generate-001"]);
const valid = new Set<string>();
const operations = new Map<string, { prompt: string; fetched: number }>();

/** Expiry is not compared with the clock, because tests hold their time. */
export const tokens = new Hono().post("/token", async (c) => {
  const form = await c.req.parseBody();
  const refuse = (error: string, error_description: string) => c.json({ error, error_description }, 400);
  if (form["grant_type"] !== "urn:ietf:params:oauth:grant-type:jwt-bearer") return refuse("unsupported_grant_type", "Invalid grant_type");
  const [header = "", claims = "", signature = ""] = (form["assertion"] as string).split(".");
  const parse = (part: string) => JSON.parse(Buffer.from(part, "base64url").toString()) as Record<string, unknown>;
  const { alg, typ } = parse(header);
  if (alg !== "RS256" || typ !== "JWT") return refuse("invalid_grant", "Invalid JWT header");
  const isSigned = verify("RSA-SHA256", Buffer.from(`${header}.${claims}`), serviceAccountPublicKey, Buffer.from(signature, "base64url"));
  if (!isSigned) return refuse("invalid_grant", "Invalid JWT Signature.");
  const { iss, scope, aud, iat, exp } = parse(claims);
  if (iss !== "gateway@test-project.iam.gserviceaccount.com") return refuse("invalid_grant", "Invalid grant: account not found");
  if (typeof aud !== "string" || !aud.endsWith("/token")) return refuse("invalid_grant", "Invalid JWT: Failed audience check.");
  if (scope !== "https://www.googleapis.com/auth/cloud-platform")
    return refuse("invalid_scope", "Invalid OAuth scope or ID token audience provided.");
  if (!(Number(exp) > Number(iat) && Number(exp) - Number(iat) <= 3600))
    return refuse("invalid_grant", "Invalid JWT: Token must be short-lived.");
  const access_token = `ya29.c.${crypto.randomUUID()}`;
  valid.add(access_token);
  return c.json({ access_token, expires_in: 3599, token_type: "Bearer" });
});

/** `[stale]`: the token expires early, and stays expired. */
function checkToken(c: Context, prompt: string): string {
  const token = c.req.header("authorization")?.replace(/^Bearer /, "") ?? "";
  if (hasDirective(prompt, "stale")) valid.delete(token);
  if (!valid.has(token))
    throw new Refused("UNAUTHENTICATED", "Request had invalid authentication credentials. Expected OAuth 2 access token.", [
      errorInfo("ACCESS_TOKEN_TYPE_UNSUPPORTED"),
    ]);
  return token;
}

const path = "/:version{v1|v1beta1}/projects/:project/locations/:location/publishers/google/models/:call";

interface Request {
  instances: Record<string, unknown>[];
  parameters?: Record<string, unknown>;
}

export const vertex = new Hono().post(path, async (c) => {
  const [model = "", method] = c.req.param("call").split(":");
  const body = await c.req.json<Request & { operationName?: string }>();
  if (method === "fetchPredictOperation") return fetchOperation(c, body.operationName ?? "");
  const prompt = (body.instances?.[0]?.["prompt"] ?? "") as string;
  try {
    const token = checkToken(c, prompt);
    if (method !== "predictLongRunning" || !models.has(model) || c.req.param("project") !== "test-project")
      throw new Refused("NOT_FOUND", `Publisher Model \`${model}\` was not found or your project does not have access to it.`);
    check(body);
    obeyAtStart(prompt, model);
    if (hasDirective(prompt, "moderated"))
      throw invalid("The prompt could not be submitted. It contains words that violate our usage guidelines.");
    record({ upstream: "google", call: "start", prompt, body: { ...body, model, token } });
    const project = `projects/test-project/locations/${c.req.param("location")}`;
    const name = `${project}/publishers/google/models/${model}/operations/${crypto.randomUUID()}`;
    operations.set(name, { prompt, fetched: 0 });
    if (hasDirective(prompt, "drop")) throw new Dropped();
    return c.json({ name });
  } catch (error) {
    return answerTo(error, c, prompt);
  }
});

function check({ instances, parameters, ...rest }: Request): void {
  onlyFields(rest, "", ["labels"]);
  if (!Array.isArray(instances) || instances.length !== 1) throw invalid("Exactly one instance is required.");
  const { prompt, image, lastFrame, referenceImages } = onlyFields(instances[0], "instances[0]", [
    "prompt",
    "image",
    "lastFrame",
    "referenceImages",
    "video",
    "mask",
  ]);
  if (typeof prompt !== "string" || prompt === "") throw invalid("prompt is required");
  const checkPart = (value: unknown, where: string) => {
    const { bytesBase64Encoded, mimeType } = onlyFields(value, where, ["bytesBase64Encoded", "mimeType"]);
    checkImage(bytesBase64Encoded, mimeType, where);
  };
  if (image) checkPart(image, "image");
  if (lastFrame) checkPart(lastFrame, "lastFrame");
  if (lastFrame && !image) throw invalid("lastFrame needs an image.");
  const references = (referenceImages ?? []) as Record<string, unknown>[];
  if (references.length > 0 && (image ?? lastFrame)) throw invalid("Reference images do not go with image or lastFrame.");
  if (references.length > 3) throw invalid("At most 3 reference images.");
  for (const reference of references) {
    checkPart(onlyFields(reference, "referenceImages", ["image", "referenceType"])["image"], "referenceImages.image");
    oneOf(reference["referenceType"] ?? "none", "referenceType", ["asset"]);
  }
  const known = [
    "sampleCount",
    "durationSeconds",
    "aspectRatio",
    "resolution",
    "generateAudio",
    "seed",
    "negativePrompt",
    "personGeneration",
  ];
  const given = onlyFields(parameters ?? {}, "parameters", [...known, "storageUri", "enhancePrompt", "resizeMode", "compressionQuality"]);
  oneOf(given["sampleCount"], "sampleCount", [1, 2, 3, 4]);
  oneOf(given["durationSeconds"], "durationSeconds", references.length > 0 ? [8] : [4, 6, 8]);
  oneOf(given["aspectRatio"], "aspectRatio", ["16:9", "9:16"]);
  oneOf(given["resolution"], "resolution", ["720p", "1080p", "4k"]);
  oneOf(given["generateAudio"], "generateAudio", [true, false]);
}

/** A video with an additional empty box of this size at its end, so that its `moov` does not move. */
function readVideo(bytes: number): Buffer {
  const box = Buffer.alloc(bytes, 0x5a);
  box.writeUInt32BE(bytes, 0);
  box.write("free", 4);
  return Buffer.concat([videoBytes(), box]);
}

function fetchOperation(c: Context, name: string): Response {
  const operation = operations.get(name);
  const prompt = operation?.prompt ?? "";
  try {
    checkToken(c, hasDirective(prompt, "stale-poll") ? "[stale]" : "");
    if (!operation || hasDirective(prompt, "forgotten")) throw new Refused("NOT_FOUND", `Operation ${name} not found.`);
    record({ upstream: "google", call: "poll", prompt });
    if (hasDirective(prompt, "limit-poll")) throw new Refused("RESOURCE_EXHAUSTED", "Quota exceeded.");
    if (hasDirective(prompt, "queued") || hasDirective(prompt, "running")) return c.json({ name });
    const done = (rest: object) => c.json({ name, done: true, ...rest });
    if (hasDirective(prompt, "fails")) return done({ error: { code: 13, message: "Video generation failed. Please try again later." } });
    if (hasDirective(prompt, "moderated-later"))
      return done({ error: { code: 3, message: "The video could not be made: it violates Vertex AI's usage guidelines." } });
    if (hasDirective(prompt, "bad-field-later"))
      return done({ error: { code: 3, message: "Unsupported output video duration 8 seconds." } });
    if (hasDirective(prompt, "bad-input-later")) return done({ error: { code: 3, message: "Image size is too small." } });
    const response = { "@type": "type.googleapis.com/cloud.ai.large_models.vision.GenerateVideoResponse" };
    if (hasDirective(prompt, "filtered"))
      return done({ response: { ...response, raiMediaFilteredCount: 1, raiMediaFilteredReasons: ["58061214"] } });
    if (hasDirective(prompt, "empty")) return done({ response });
    const bytes = hasDirective(prompt, "large")
      ? readVideo(12_000_000)
      : hasDirective(prompt, "signed mp4")
        ? Buffer.from(makeFile(prompt, "video").bytes)
        : readVideo(16);
    const text = JSON.stringify({
      name,
      done: true,
      response: { ...response, videos: [{ bytesBase64Encoded: bytes.toString("base64"), mimeType: "video/mp4" }] },
    });
    const whole = hasDirective(prompt, "truncated") ? text.slice(0, text.length / 2) : text;
    return new Response(whole, { headers: { "content-type": "application/json; charset=UTF-8" } });
  } catch (error) {
    return answerTo(error, c, prompt);
  }
}
