/** Start-up of a Worker: the runtime's process with only this script, from its start to its first answer. */

import { readdir, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { claimPort } from "../scripts/support/port.ts";
import { type Command, start } from "./programs.ts";
import { workerd } from "./server.ts";

/** A bundled Worker for the runtime, without bindings. */
export interface Startable {
  script: string;
  compatibilityFlags: string[];
}

/** Writes the runtime's configuration for a script: it listens on this port. */
async function commandFor({ script, compatibilityFlags }: Startable, port: number): Promise<Command> {
  const dir = dirname(script);
  const others = (await readdir(dir)).filter(
    (file) => /\.(?:txt|css|js|svg|woff2|webp|png|mp4|md|bin)$/.test(file) && file !== basename(script),
  );
  const quote = JSON.stringify;
  const modules = [
    `(name = ${quote(basename(script))}, esModule = embed ${quote(basename(script))})`,
    ...others.map(
      (file) => `(name = ${quote(file)}, ${/\.(?:woff2|webp|png|mp4|bin)$/.test(file) ? "data" : "text"} = embed ${quote(file)})`,
    ),
  ];
  const config = `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = (
    modules = [${modules.join(", ")}],
    compatibilityDate = "2026-10-20",
    compatibilityFlags = ${quote(compatibilityFlags)},
  ))],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")],
);
`;
  const path = join(dir, "startup.capnp");
  await writeFile(path, config);
  return { file: workerd, args: ["serve", path] };
}

/** Milliseconds from the start of a process to its first answer. */
export async function startMs(worker: Startable): Promise<number> {
  const port = await claimPort(0);
  const program = await start(await commandFor(worker, port), port, "/healthz");
  await program.stop();
  return program.startMs;
}
