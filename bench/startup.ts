/** Start-up of a Worker: the runtime's process with only this script, from its start to its first answer. */

import { readdir, readFile, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { parse } from "smol-toml";
import { claimPort } from "../scripts/support/port.ts";
import type { Bundled } from "./build.ts";
import { type Command, start } from "./programs.ts";
import { workerd } from "./server.ts";

/** Writes the runtime's configuration for a script with its Worker's flags and without bindings: it listens on this port. */
async function commandFor({ configPath, script }: Bundled, port: number): Promise<Command> {
  const dir = dirname(script);
  const { compatibility_date: date, compatibility_flags: flags = [] } = parse(await readFile(configPath, "utf8"));
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
    compatibilityDate = ${quote(date)},
    compatibilityFlags = ${quote(flags)},
  ))],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")],
);
`;
  const path = join(dir, "startup.capnp");
  await writeFile(path, config);
  return { file: workerd, args: ["serve", path] };
}

/** Milliseconds from the start of a process to its first answer. */
export async function startMs(worker: Bundled): Promise<number> {
  const port = await claimPort(0);
  const program = await start(await commandFor(worker, port), port, "/healthz");
  await program.stop();
  return program.startMs;
}
