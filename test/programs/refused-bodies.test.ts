/** Bodies that are refused before they have arrived, on the real runtime: the client gets the answer. Contract 1 and 5. */

import { request } from "node:http";
import { expect, test } from "vitest";
import { gateway, newKey } from "./support/account.ts";

const MiB = 1024 * 1024;
const text = (bytes: number) => Buffer.from(`{"model":"imgA-4","prompt":"a fox","note":"${"x".repeat(bytes)}"}`);

/** The status and the body of the answer to a body that is sent as a client does that reads nothing before it has sent everything. */
const send = (path: string, headers: Record<string, string>, body: Buffer) =>
  new Promise<{ status: number | undefined; body: string }>((resolve, reject) => {
    const sent = request(`${gateway.baseUrl}${path}`, { method: "POST", headers }, (answer) => {
      const read = answer.toArray().then((chunks) => ({ status: answer.statusCode, body: Buffer.concat(chunks as Buffer[]).toString() }));
      read.then(resolve, reject);
    });
    sent.on("error", reject);
    sent.end(body);
  });

test("a client whose large body is refused gets the refusal, whether or not a part of the body was read", async () => {
  const key = `Bearer ${await newKey("refused-bodies", 1)}`;
  const json = { authorization: key, "content-type": "application/json" };
  const images = "/v1/images/generations";
  const chats = "/v1/chat/completions";
  const rows: [path: string, headers: Record<string, string>, bytes: number, status: number, code: string][] = [
    [chats, json, 10 * MiB, 413, "body_too_large"],
    [chats, { ...json, "transfer-encoding": "chunked" }, 20 * MiB, 413, "body_too_large"],
    [images, json, 72 * MiB, 413, "body_too_large"],
    [images, json, 30 * MiB, 413, "body_too_large"],
    ["/v1/videos/x/remix", json, 3 * MiB, 413, "body_too_large"],
    [images, { ...json, authorization: "Bearer sk-unknown" }, 20 * MiB, 401, "unauthorized"],
    [images, { ...json, "content-type": "text/plain" }, 20 * MiB, 415, "unsupported_media_type"],
    ["/v1/unknown", json, 20 * MiB, 404, "not_found"],
    ["/v1/models", json, 20 * MiB, 405, "method_not_allowed"],
  ];
  for (const [path, headers, bytes, status, code] of rows)
    for (let times = 0; times < 2; times++) {
      const answer = await send(path, headers, text(bytes));
      expect({ path, bytes, status: answer.status }).toEqual({ path, bytes, status });
      expect(JSON.parse(answer.body)).toMatchObject({ error: { code } });
    }
  expect(await send("/balance", json, text(20 * MiB))).toEqual({
    status: 405,
    body: JSON.stringify({ success: false, message: "Method not allowed" }),
  });
});

test("a client whose file is refused gets the refusal, on the gateway's path and on OpenAI's", async () => {
  const key = `Bearer ${await newKey("refused-files", 1)}`;
  const image = Buffer.concat([Buffer.from("89504e470d0a1a0a", "hex"), Buffer.alloc(20 * MiB)]);
  const part = (name: string) => Buffer.from(`--b\r\ncontent-disposition: form-data; name="${name}"; filename="a"\r\n\r\n`);
  const form = (name: string, file: Buffer) => Buffer.concat([part(name), file, Buffer.from("\r\n--b--\r\n")]);
  const multipart = "multipart/form-data; boundary=b";
  const rows: [type: string, body: Buffer, status: number][] = [
    ["image/png", image, 400],
    [multipart, form("file", image), 400],
    [multipart, form("other", image), 400],
    ["image/png", Buffer.alloc(20 * MiB), 400],
    ["video/mp4", Buffer.concat([Buffer.from("\0\0\0\x18ftypmp42"), Buffer.alloc(101 * MiB)]), 413],
  ];
  for (const path of ["/v1/files", "/openai/v1/files"])
    for (const [type, body, status] of rows)
      for (let times = 0; times < 2; times++) {
        const answer = await send(path, { authorization: key, "content-type": type }, body);
        expect({ path, type, bytes: body.length, status: answer.status }).toEqual({ path, type, bytes: body.length, status });
        expect(JSON.parse(answer.body)).toMatchObject({ error: { message: expect.any(String) as string } });
      }
});

test("a client that waits for the answer before it sends its body gets the refusal", async () => {
  const headers = { authorization: `Bearer ${await newKey("waits", 1)}`, "content-type": "application/json" };
  const answer = await new Promise<number | undefined>((resolve, reject) => {
    const sent = request(`${gateway.baseUrl}/v1/images/generations`, {
      method: "POST",
      headers: { ...headers, "content-length": 90 * MiB },
    });
    sent.on("response", ({ statusCode }) => resolve(statusCode)).on("error", reject);
    sent.write("{");
  });
  expect(answer).toBe(413);
});
