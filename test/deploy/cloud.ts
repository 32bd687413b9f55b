/** An emulated Cloudflare for one test: account, API, deployed hosts, and a checkout of the project to deploy from. */

import { spawn } from "node:child_process";
import { cp, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { Account, token } from "./account.ts";
import { type EmulatedApi, startApi } from "./api.ts";
import { type Front, startFront } from "./front.ts";
import { Runtime } from "./runtime.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
/** The files of a checkout that a deployment reads. */
const checkedOut = [
  "src",
  "docs",
  "CHANGELOG.md",
  "scripts",
  "migrations",
  "wrangler.toml",
  "package.json",
  "package-lock.json",
  "tsconfig.json",
];

/** The result of a command. */
interface Ended {
  code: number | null;
  output: string;
}

/** An emulated Cloudflare and a checkout. */
export interface Cloud {
  account: Account;
  api: EmulatedApi;
  front: Front;
  runtime: Runtime;
  /** The checkout's folder. */
  checkout: string;
  /** Answers for a deployed host in place of its Worker; undefined passes the request on to the Worker. */
  intercept: { current: (request: Request) => Response | undefined };
  /** Variables for a network in which the API too is reached through the proxy, and only the system's certificates are trusted. */
  proxied: Record<string, string>;
  /** The files of the checkout that differ from the repository, except for those that git ignores. */
  changed(): Promise<string[]>;
  /** Runs an npm script of the checkout with these variables, in an environment without other credentials. */
  npm(script: "deploy" | "destroy", args: string[], variables?: Record<string, string>): Promise<Ended>;
  /** The same on a terminal, where these questions are answered in their order. Needs python3. */
  onTerminal(script: "deploy", args: string[], answers: [question: string, answer: string][]): Promise<Ended>;
  /** The text of all log files of the checkout. */
  logs(): Promise<string>;
  stop(): Promise<void>;
}

const apiHost = "api.cloudflare.test";
const hosts = [apiHost, "gateway.acme.workers.dev", "gateway-staging.acme.workers.dev", "api.example.com"];

/** Starts an emulated Cloudflare. */
export async function startCloud(): Promise<Cloud> {
  const folder = await mkdtemp(join(tmpdir(), "gateway-deploy-"));
  const checkout = await checkOut(folder, "checkout");
  const account = new Account();
  const runtime = new Runtime(account, join(folder, "runtime"));
  const api = await startApi(account, runtime);
  const intercept: Cloud["intercept"] = { current: () => undefined };
  const front = await startFront(hosts, async (host, request) => {
    if (host === apiHost)
      return fetch(new Request(api.url.replace(/\/client.*/, new URL(request.url).pathname + new URL(request.url).search), request));
    const worker = account.workerOn(host);
    return worker === undefined ? undefined : (intercept.current(request) ?? runtime.fetch(worker, request));
  });
  const certificate = join(folder, "certificate.pem");
  await writeFile(certificate, front.certificate);
  const environment: Record<string, string> = {
    // Wrangler is started hundreds of times: Node compiles it once.
    NODE_COMPILE_CACHE: join(folder, "compiled"),
    PATH: process.env["PATH"] ?? "",
    HOME: folder,
    CLOUDFLARE_API_BASE_URL: api.url,
    CLOUDFLARE_API_TOKEN: token,
    HTTPS_PROXY: front.proxyUrl,
    NO_PROXY: "127.0.0.1",
    NODE_EXTRA_CA_CERTS: certificate,
  };
  return {
    account,
    api,
    front,
    runtime,
    checkout,
    intercept,
    proxied: { CLOUDFLARE_API_BASE_URL: `https://${apiHost}/client/v4`, NODE_EXTRA_CA_CERTS: "", SSL_CERT_FILE: certificate },
    changed: async () => {
      const names = (await readdir(checkout, { recursive: true, withFileTypes: true }))
        .filter((entry) => entry.isFile())
        .map((entry) => relative(checkout, join(entry.parentPath, entry.name)))
        .filter((name) => !name.startsWith(".deploy/"));
      const read = (folder: string, name: string) => readFile(join(folder, name), "utf8").catch(() => undefined);
      const isChanged = await Promise.all(names.map(async (name) => (await read(root, name)) !== (await read(checkout, name))));
      return names.filter((_, at) => isChanged[at]);
    },
    npm: (script, args, variables = {}) => npm(checkout, script, args, { ...environment, ...variables }),
    onTerminal: (script, args, answers) => npm(checkout, script, args, environment, answers),
    logs: async () => {
      const files = (await readdir(join(checkout, ".deploy"), { recursive: true })).filter((name) => name.endsWith(".log"));
      return (await Promise.all(files.map((name) => readFile(join(checkout, ".deploy", name), "utf8")))).join("");
    },
    stop: async () => {
      api.close();
      await front.close();
      await runtime.dispose();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function checkOut(folder: string, name: string): Promise<string> {
  const checkout = join(folder, name);
  for (const entry of checkedOut) await cp(join(root, entry), join(checkout, entry), { recursive: true });
  await symlink(join(root, "node_modules"), join(checkout, "node_modules"));
  return checkout;
}

/** A program that runs another one on a terminal. */
const terminal = ["python3", "-c", "import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)"];

/** Runs the script's command from package.json without npm, which would cost a second of CPU per run. */
async function npm(
  checkout: string,
  script: string,
  args: string[],
  environment: Record<string, string>,
  answers?: [question: string, answer: string][],
): Promise<Ended> {
  const { scripts } = JSON.parse(await readFile(join(checkout, "package.json"), "utf8")) as { scripts: Record<string, string> };
  const [program = "", ...own] = (scripts[script] ?? "").split(" ");
  const [file = "", ...rest] = [...(answers ? terminal : []), program === "node" ? process.execPath : program, ...own, ...args];
  const child = spawn(file, rest, {
    cwd: checkout,
    env: environment,
    stdio: [answers ? "pipe" : "ignore", "pipe", "pipe"],
  });
  const open = [...(answers ?? [])];
  let output = "";
  let read = 0;
  for (const stream of [child.stdout!, child.stderr!])
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text.replaceAll("\r\n", "\n");
      const [question, answer] = open[0] ?? [];
      if (question === undefined || !output.includes(question, read)) return;
      read = output.length;
      open.shift();
      child.stdin!.write(`${answer}\n`);
    });
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  return { code, output };
}
