/** Google's own client against the emulator: it accepts the client's requests, and the client parses its answers. */

import { GoogleGenAI } from "@google/genai";
import { createSign } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { serviceAccount } from "../keys.ts";
import { listen } from "../listen.ts";

let emulators: Awaited<ReturnType<typeof listen>>;
beforeAll(async () => void (emulators = await listen()));
afterAll(() => emulators.close());

const gemini = (apiVersion: string, apiKey = "test-gemini-key") =>
  new GoogleGenAI({ apiKey, httpOptions: { baseUrl: `${emulators.origin}/google`, apiVersion, retryOptions: { attempts: 1 } } });

test.each(["v1", "v1beta"])("it generates an image (%s)", async (version) => {
  const answer = await gemini(version).models.generateContent({
    model: "gemini-3-pro-image",
    contents: [{ role: "user", parts: [{ text: "a house" }] }],
    config: { responseModalities: ["IMAGE"], imageConfig: { aspectRatio: "16:9", imageSize: "2K" } },
  });
  const data = answer.candidates?.[0]?.content?.parts?.[0]?.inlineData?.data;
  expect(Buffer.from(data!, "base64").subarray(1, 4).toString()).toBe("PNG");
});

test("a refusal has its reason: content, limit, key, field", async () => {
  const ask = (text: string, key?: string) => gemini("v1beta", key).models.generateContent({ model: "gemini-3-pro-image", contents: text });
  expect((await ask("[moderated]")).promptFeedback?.blockReason).toBe("PROHIBITED_CONTENT");
  await expect(ask("[limit]")).rejects.toMatchObject({ status: 429, message: expect.stringContaining("RetryInfo") });
  await expect(ask("x", "wrong")).rejects.toMatchObject({ status: 400, message: expect.stringContaining("API_KEY_INVALID") });
  const wrong = gemini("v1beta").models.generateContent({
    model: "gemini-3-pro-image",
    contents: "x",
    config: { imageConfig: { imageSize: "2k" } },
  });
  await expect(wrong).rejects.toMatchObject({ status: 400 });
});

const video = { type: "video", aspect_ratio: "16:9", duration: "8s", delivery: "uri" } as const;

test("it makes a video by an interaction, changes it by another, and cancels", async () => {
  const { interactions } = gemini("v1beta");
  const body = { model: "gemini-omni-1.2-flash", background: true, store: true, response_format: video } as const;
  const made = await interactions.create({ ...body, input: "a river [queued 1]" });
  expect(made.status).toBe("in_progress");
  expect((await interactions.get(made.id)).status).toBe("queued");
  const done = await interactions.get(made.id);
  expect(done).toMatchObject({ status: "completed", output_video: { uri: expect.stringContaining(":download?alt=media") } });
  const file = await fetch(done.output_video!.uri!, { headers: { "x-goog-api-key": "test-gemini-key" } });
  expect((await file.arrayBuffer()).byteLength).toBe(25_272);
  const changed = await interactions.create({ ...body, input: "at night [running]", previous_interaction_id: made.id });
  expect((await interactions.cancel(changed.id)).status).toBe("cancelled");
});

test("its interactions are refused like the real ones", async () => {
  const { interactions } = gemini("v1beta");
  await expect(interactions.get("v1_unknown")).rejects.toMatchObject({ status: 400 });
  const create = (duration: unknown) =>
    interactions.create({ model: "gemini-omni-1.2-flash", input: "x", response_format: { ...video, duration: duration as string } });
  await expect(create(8)).rejects.toMatchObject({ status: 400 });
});

/** A token for an assertion that was signed without the code under test. */
async function token(): Promise<string> {
  const uri = `${emulators.origin}/google/token`;
  const { client_email, private_key } = JSON.parse(serviceAccount(uri)) as { client_email: string; private_key: string };
  const iat = Math.floor(Date.now() / 1000);
  const claims = { iss: client_email, scope: "https://www.googleapis.com/auth/cloud-platform", aud: uri, iat, exp: iat + 3600 };
  const signed = [{ alg: "RS256", typ: "JWT" }, claims].map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".");
  const assertion = `${signed}.${createSign("RSA-SHA256").update(signed).sign(private_key, "base64url")}`;
  const grant_type = "urn:ietf:params:oauth:grant-type:jwt-bearer";
  const response = await fetch(uri, { method: "POST", body: new URLSearchParams({ grant_type, assertion }) });
  return ((await response.json()) as { access_token: string }).access_token;
}

test("it makes a video on Vertex AI", async () => {
  const vertex = (authorization: string) =>
    new GoogleGenAI({
      vertexai: true,
      project: "test-project",
      location: "us-central1",
      // Its own sign-in only works with Google's address.
      googleAuthOptions: { authClient: { getRequestHeaders: async () => new Headers({ authorization }) } as never },
      httpOptions: { baseUrl: `${emulators.origin}/google`, apiVersion: "v1" },
    });
  const client = vertex(`Bearer ${await token()}`);
  const config = { numberOfVideos: 1, durationSeconds: 8, aspectRatio: "16:9", generateAudio: true };
  let operation = await client.models.generateVideos({
    model: "veo-3.1-fast-generate-001",
    source: { prompt: "a river [running 1]" },
    config,
  });
  operation = await client.operations.getVideosOperation({ operation });
  expect(operation.done).toBeFalsy();
  operation = await client.operations.getVideosOperation({ operation });
  const bytes = operation.response?.generatedVideos?.[0]?.video?.videoBytes;
  expect(Buffer.from(bytes!, "base64").subarray(4, 8).toString()).toBe("ftyp");
  const refused = vertex("Bearer wrong").models.generateVideos({ model: "veo-3.1-fast-generate-001", source: { prompt: "x" }, config });
  await expect(refused).rejects.toMatchObject({ status: 401 });
});
