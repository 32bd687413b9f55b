/** Shared by the sandbox's tests: requests, stepped time, and completed operations. */

import { env, exports } from "cloudflare:workers";
import { afterEach, beforeEach, expect, vi } from "vitest";
import type { SandboxEnv } from "../../src/sandbox/operation-object.ts";

export interface View {
  id: string;
  status: string;
  progress: number;
  poll_after_ms?: number;
  error?: { code: string; message: string };
  outputs?: { url: string; type: string; width: number; height: number; duration?: number; thumbnail_url?: string }[];
  character?: { username: string; display_name: string };
}

/** The objects' namespace: the sandbox has its own bindings, which the gateway's types do not include. */
export const { OPERATIONS: operations } = sandboxEnv(env);

function sandboxEnv(bindings: object): SandboxEnv {
  if (!hasOperations(bindings)) throw new Error("these tests run with the sandbox's configuration");
  return bindings;
}

function hasOperations(bindings: object): bindings is SandboxEnv {
  return "OPERATIONS" in bindings;
}

/** Time stands still in every test until it is stepped. */
export function useSteppedClock(): void {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["Date"] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });
}

export function step(ms: number): void {
  vi.setSystemTime(Date.now() + ms);
}

export function request(path: string, init?: RequestInit): Promise<Response> {
  return exports.default.fetch(`http://sandbox${path}`, init);
}

export function post(path: string, body: unknown): Promise<Response> {
  return request(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
}

export const image = { kind: "image", model: "imgA-4", prompt: "a red fox" };
export const video = { kind: "video", model: "vidA-2", prompt: "a red fox runs", size: "16:9", duration: 10 };

/** Submits with a new key and returns the id. */
export async function submit(order: object): Promise<string> {
  const response = await post("/v1/operations", { key: crypto.randomUUID(), ...order });
  expect(response.status).toBe(202);
  return (await response.json<View>()).id;
}

export async function view(id: string): Promise<View> {
  const response = await request(`/v1/operations/${id}`);
  expect(response.status).toBe(200);
  return response.json();
}

/** Submits, advances the time, and returns the ended operation. */
export async function run(order: object): Promise<View> {
  const id = await submit(order);
  step(6000);
  return view(id);
}

/** Downloads a file and checks the answer's headers. */
export async function download(url: string | undefined, type: string): Promise<Uint8Array<ArrayBuffer>> {
  const response = await request(url ?? "/missing");
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toBe(type);
  const bytes = new Uint8Array(await response.arrayBuffer());
  expect(response.headers.get("content-length")).toBe(String(bytes.byteLength));
  return bytes;
}

export async function readError(response: Response): Promise<{ status: number; code: string }> {
  const { error } = await response.json<{ error: { code: string; message: string } }>();
  expect(error.message).not.toBe("");
  return { status: response.status, code: error.code };
}
