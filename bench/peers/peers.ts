/** The other gateways of the comparison: how each is installed into a folder outside the repository, started, and called. */

import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Command } from "../programs.ts";

export interface Peer {
  name: string;
  version: string;
  /** Installs this version into an empty folder. Throws if it cannot be installed on this machine. */
  install(dir: string): Promise<void>;
  /** The program that listens on this port of 127.0.0.1 and calls this upstream (`http://127.0.0.1:1234/v1`). */
  command(dir: string, port: number, upstream: string): Promise<Command>;
  /** The headers of a chat. */
  headers(upstream: string): Record<string, string>;
  /** The name of the model in a chat. */
  model: string;
}

const installMs = 600_000;
const run = (file: string, args: string[]) => promisify(execFile)(file, args, { timeout: installMs, maxBuffer: 64 * 1024 * 1024 });

/** In the format of a caller's key, which a gateway does not forward to the upstream by default. */
const key = "sk-bench-1234567890";

const portkey: Peer = {
  name: "Portkey",
  version: "1.15.2",
  model: "upstream-model",
  async install(dir) {
    // With adapters to Node from 1.11.0 to 1.19.19 (six were tried) this version answers each stream with 500.
    await writeFile(join(dir, "package.json"), JSON.stringify({ private: true, overrides: { "@hono/node-server": "1.10.1" } }));
    const packages = `@portkey-ai/gateway@${this.version}`;
    await run("npm", ["install", "--prefix", dir, "--save-exact", "--ignore-scripts", "--no-audit", "--no-fund", packages]);
  },
  command: async (dir, port) => ({
    file: process.execPath,
    args: [join(dir, "node_modules/@portkey-ai/gateway/build/start-server.js"), `--port=${port}`, "--headless"],
    env: { NODE_ENV: "production" },
  }),
  headers: (upstream) => ({
    authorization: `Bearer ${key}`,
    "x-portkey-provider": "openai",
    "x-portkey-custom-host": upstream,
  }),
};

const litellm: Peer = {
  name: "LiteLLM",
  version: "1.105.0",
  model: "bench",
  async install(dir) {
    await run("python3", ["-m", "venv", join(dir, "python")]);
    await run(join(dir, "python/bin/pip"), ["install", "--quiet", "--disable-pip-version-check", `litellm[proxy]==${this.version}`]);
  },
  async command(dir, port, upstream) {
    const route = { model: "openai/upstream-model", api_base: upstream, api_key: key };
    const config = { model_list: [{ model_name: this.model, litellm_params: route }], general_settings: { master_key: key } };
    const path = join(dir, "config.yaml");
    await writeFile(path, JSON.stringify(config)); // JSON is valid YAML
    return {
      file: join(dir, "python/bin/litellm"),
      args: ["--config", path, "--host", "127.0.0.1", "--port", String(port), "--num_workers", "1", "--telemetry", "False"],
      // Uses the prices in its package: the newest ones would be downloaded from another host.
      env: { LITELLM_LOCAL_MODEL_COST_MAP: "True", LITELLM_LOG: "ERROR", NO_PROXY: "127.0.0.1" },
    };
  },
  headers: () => ({ authorization: `Bearer ${key}` }),
};

export const peers: Peer[] = [portkey, litellm];

/** The folder of an installed gateway below `root`; an earlier installation is used again. Throws if it cannot be installed. */
export async function installed(peer: Peer, root: string): Promise<string> {
  const dir = join(root, `${peer.name.toLowerCase()}-${peer.version}`);
  const mark = join(dir, "installed");
  if (existsSync(mark)) return dir;
  await mkdir(dir, { recursive: true });
  await peer.install(dir);
  await writeFile(mark, `${new Date().toISOString()}\n`);
  return dir;
}
