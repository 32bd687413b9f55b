/** All emulated upstreams: by the makers' host names for tests, by one path each on a single port for a developer. */

import { Hono } from "hono";
import { cloudflare } from "./cloudflare/index.ts";
import { callsFor } from "./calls.ts";
import { endsOf, recorded } from "./emulator.ts";
import { fal } from "./fal/index.ts";
import { openai } from "./openai/index.ts";
import { modelark } from "./modelark/index.ts";
import { minimax } from "./minimax/index.ts";
import { files, filesHeader, makeFile } from "./files.ts";
import { google } from "./google/index.ts";
import { replicate } from "./replicate/index.ts";
import { xai } from "./xai/index.ts";

/** Where an emulator is: below `/name` on the port, and in place of these hosts in tests. Add a line for a new one. */
const upstreams: { name: string; hosts: RegExp; app: Hono }[] = [
  { name: "files", hosts: /^files\.emulated\.example$/, app: files },
  { name: "google", hosts: /^(generativelanguage|oauth2|([a-z0-9-]+-)?aiplatform)\.googleapis\.com$/, app: google },
  { name: "cloudflare", hosts: /^api\.cloudflare\.com$/, app: cloudflare },
  { name: "openai", hosts: /^api\.openai\.com$/, app: openai },
  { name: "fal", hosts: /^(?:queue\.fal\.run|api\.fal\.ai|rest\.fal\.ai|foreign\.emulated\.example)$/, app: fal },
  { name: "modelark", hosts: /^ark\.(?:(?:ap-southeast|eu-west)\.bytepluses|cn-beijing\.volces)\.com$/, app: modelark },
  { name: "minimax", hosts: /^api\.minimaxi?\.(?:io|com)$/, app: minimax },
  { name: "replicate", hosts: /^api\.replicate\.com$/, app: replicate },
  { name: "xai", hosts: /^api\.x\.ai$/, app: xai },
];

const app = new Hono()
  .onError((error) => {
    throw error;
  })
  .get("/__signed/:kind/:type", (c) => {
    const { kind, type } = c.req.param();
    return new Response(makeFile(`[signed ${type}]`, kind === "video" ? kind : "image").bytes);
  })
  .get("/__calls", (c) => c.json(recorded(c.req.query("match") ?? "")))
  .get("/__ends", (c) => c.json(endsOf(c.req.query("match") ?? "")))
  .get("/__callbacks", (c) => c.json(callsFor(c.req.query("match") ?? "", Number(c.req.query("at")))));
for (const { name, app: upstream } of upstreams) app.route(`/${name}`, upstream);

/** Answers for every emulated host. Rejects if the connection is to break. */
export async function emulate(request: Request): Promise<Response> {
  const url = new URL(request.url);
  if (url.hostname === "upstreams.example") return app.fetch(request);
  const upstream = upstreams.find(({ hosts }) => hosts.test(url.hostname));
  if (!upstream) return new Response(`no emulator for ${url.hostname}`, { status: 502 });
  const headers = new Headers(request.headers);
  headers.set(filesHeader, "https://files.emulated.example");
  headers.set("x-emulator-host", url.hostname);
  const body = request.body ? await request.arrayBuffer() : null;
  const address = `http://upstreams.example/${upstream.name}${url.pathname}${url.search}`;
  const response = await app.fetch(new Request(address, { method: request.method, headers, body }));
  return response;
}

/** Answers below `/name` paths; files are at `origin`. */
export function serve(request: Request, origin: string): Response | Promise<Response> {
  const headers = new Headers(request.headers);
  headers.set(filesHeader, `${origin}/files`);
  return app.fetch(new Request(request, { headers }));
}
