/** An R2 bucket in this process's memory with the protocol of workerd's binding: the simulator would share the gateway's thread. */

import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { listen } from "../../scripts/support/port.ts";

interface File {
  bytes: Buffer;
  httpFields: object;
  uploaded: number;
}

/** An upload in parts, by their numbers. */
interface Upload {
  httpFields: object;
  parts: Map<number, Buffer>;
}

export interface Bucket {
  /** Host and port. */
  address: string;
  /** The stored objects by key. */
  files: ReadonlyMap<string, File>;
  close: () => void;
}

/** The operations that the gateway uses: no conditions. */
type BindingRequest =
  | { method: "head" | "get"; object: string; range?: { offset?: string; length?: string }; rangeHeader?: string }
  | { method: "put" | "createMultipartUpload"; object: string; httpFields?: object }
  | { method: "uploadPart"; object: string; uploadId: string; partNumber: number }
  | { method: "completeMultipartUpload"; object: string; uploadId: string; parts: { part: number }[] }
  | { method: "abortMultipartUpload"; object: string; uploadId: string }
  | { method: "delete"; object?: string; objects?: string[] }
  | { method: "list"; prefix?: string };

/** Starts an empty bucket on a free port of 127.0.0.1. */
export async function startBucket(): Promise<Bucket> {
  const files = new Map<string, File>();
  const uploads = new Map<string, Upload>();
  const server = createServer((incoming, response) => {
    answer(files, uploads, incoming, response).catch((error: unknown) => {
      console.error("the bucket:", error);
      response.destroy();
    });
  });
  return { address: await listen(server), files, close: () => (server.close(), server.closeAllConnections()) };
}

async function answer(
  files: Map<string, File>,
  uploads: Map<string, Upload>,
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { request, bytes } = await read(incoming);
  switch (request.method) {
    case "head":
    case "get": {
      const file = files.get(request.object);
      if (!file) return void response.writeHead(404, { "cf-r2-error": noSuchKey }).end();
      const range = toRange(request, file.bytes.length);
      const bytes = request.method === "get" ? file.bytes.subarray(range.offset, range.offset + range.length) : undefined;
      return send(response, { ...described(request.object, file), range }, bytes);
    }
    case "put": {
      const file = { bytes, httpFields: request.httpFields ?? {}, uploaded: Date.now() };
      files.set(request.object, file);
      return send(response, described(request.object, file));
    }
    case "createMultipartUpload": {
      const uploadId = randomUUID();
      uploads.set(uploadId, { httpFields: request.httpFields ?? {}, parts: new Map() });
      return send(response, { uploadId });
    }
    case "uploadPart":
      uploads.get(request.uploadId)!.parts.set(request.partNumber, bytes);
      return send(response, { etag: String(request.partNumber) });
    case "completeMultipartUpload": {
      const { httpFields, parts } = uploads.get(request.uploadId)!;
      const file = { bytes: Buffer.concat(request.parts.map(({ part }) => parts.get(part)!)), httpFields, uploaded: Date.now() };
      files.set(request.object, file);
      uploads.delete(request.uploadId);
      return send(response, described(request.object, file));
    }
    case "abortMultipartUpload":
      uploads.delete(request.uploadId);
      return void response.end();
    case "delete":
      for (const key of request.objects ?? [request.object!]) files.delete(key);
      return void response.end();
    case "list": {
      const { prefix = "" } = request;
      const found = [...files].filter(([key]) => key.startsWith(prefix)).map(([key, file]) => described(key, file));
      return send(response, { objects: found, truncated: false, delimitedPrefixes: [] });
    }
  }
}

/** The metadata of a read is in a header; the metadata of a write precedes the bytes, with its length in a header. */
async function read(incoming: IncomingMessage): Promise<{ request: BindingRequest; bytes: Buffer }> {
  const pieces: Buffer[] = [];
  for await (const piece of incoming) pieces.push(piece as Buffer);
  const body = Buffer.concat(pieces);
  const size = Number(incoming.headers["cf-r2-metadata-size"] ?? 0);
  const text = incoming.method === "GET" ? (incoming.headers["cf-r2-request"] as string) : body.subarray(0, size).toString();
  return { request: JSON.parse(text) as BindingRequest, bytes: body.subarray(size) };
}

/** The bytes that a read is for: the whole file, or one range of it as numbers or as a `Range` header. */
function toRange({ range, rangeHeader }: { range?: { offset?: string; length?: string }; rangeHeader?: string }, size: number) {
  const [, first = 0, last = size - 1] = /^bytes=(\d+)-(\d*)$/.exec(rangeHeader ?? "") ?? [];
  const offset = Number(range?.offset ?? first);
  return { offset, length: Math.min(Number(range?.length ?? Number(last || size - 1) - offset + 1), size - offset) };
}

const noSuchKey = JSON.stringify({ message: "The specified key does not exist.", version: 1, v4code: 10007 });

const described = (name: string, { bytes, httpFields, uploaded }: File) => ({
  range: { offset: 0, length: bytes.length },
  name,
  version: String(uploaded),
  size: bytes.length,
  etag: String(uploaded),
  uploaded,
  httpFields,
  customFields: [],
  checksums: {},
});

function send(response: ServerResponse, metadata: object, bytes: Buffer = Buffer.alloc(0)): void {
  const head = Buffer.from(JSON.stringify(metadata));
  response.writeHead(200, { "cf-r2-metadata-size": head.length, "content-length": head.length + bytes.length });
  response.write(head);
  response.end(bytes);
}
