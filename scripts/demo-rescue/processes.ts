/** The processes of the rescue demo beside the gateway: the first provider, and the caller's script. */

import { fork, spawn } from "node:child_process";
import { once } from "node:events";
import { copyFile, mkdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { root } from "../support/wrangler.ts";
import type { UpstreamEvent } from "./upstream.ts";

/** A running upstream. */
export interface Upstream {
  port: number;
  /** Kills it with SIGKILL; its memory is lost. Resolves when it has ended. */
  kill(): Promise<void>;
}

/** Starts the upstream on a port, 0 for a free one. `onEvent` gets each request that it has answered. */
export async function startUpstream(port: number, onEvent: (event: UpstreamEvent) => void): Promise<Upstream> {
  const child = fork(new URL("upstream.ts", import.meta.url), [String(port)], { execArgv: ["--no-warnings"] });
  const listening = new Promise<number>((resolve, reject) => {
    child.on("message", (event: UpstreamEvent) => (event.is === "listening" ? resolve(event.port) : onEvent(event)));
    child.once("exit", (code) => reject(new Error(`the upstream ended (exit code ${code})`)));
    child.once("error", reject);
  });
  const kill = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exit = once(child, "exit");
    child.kill("SIGKILL");
    await exit;
  };
  return { port: await listening, kill };
}

/** A running script. */
export interface Script {
  /** Resolves with its exit code; a signal counts as 1. */
  exited: Promise<number>;
  output(): string;
  kill(): void;
}

/** Runs the script of 2025 in the folder `cwd`, with OpenAI's client of that time as `openai`. It saves its video there. */
export async function startScript(cwd: string, baseUrl: string, apiKey: string, onLine: (line: string) => void): Promise<Script> {
  const file = join(cwd, "script.mjs");
  await mkdir(join(cwd, "node_modules"), { recursive: true });
  await symlink(join(root, "node_modules/openai-2025"), join(cwd, "node_modules/openai"), "junction");
  await copyFile(fileURLToPath(new URL("script-2025.mjs", import.meta.url)), file);
  const env = { PATH: process.env["PATH"], OPENAI_BASE_URL: `${baseUrl}/openai/v1`, OPENAI_API_KEY: apiKey };
  const child = spawn(process.execPath, [file], { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  let line = "";
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text: string) => (output += text));
  child.stdout.on("data", (text: string) => {
    const lines = (line + text).split("\n");
    line = lines.pop() ?? "";
    for (const one of lines) onLine(one);
  });
  const exited = new Promise<number>((resolve) => {
    child.once("close", (code) => resolve(code ?? 1));
    child.once("error", () => resolve(1));
  });
  return { exited, output: () => output, kill: () => void child.kill("SIGKILL") };
}
