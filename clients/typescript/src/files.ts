/** Files of the caller for requests, and files of results: names, types, and bytes as streams. */

import { ConnectionError } from "./errors.js";

type Builtin = {
  openAsBlob(path: string): Promise<Blob>;
  createWriteStream(path: string): unknown;
  promises: { rename(from: string, to: string): Promise<void>; rm(path: string, options: { force: true }): Promise<void> };
};
/** Node's own modules, where they exist (Node, Deno, Bun): without an import, which bundlers for browsers would refuse. */
function builtin(name: string): unknown {
  const { process } = globalThis as { process?: { getBuiltinModule?(name: string): unknown } };
  const module = process?.getBuiltinModule?.(name);
  if (!module) throw new TypeError(`There is no ${name} here.`);
  return module;
}
const baseName = (path: string) => path.split(/[/\\]/).at(-1) || "file";

/** A file on the disk, which is read when it is sent. */
export const file = async (path: string, options: { type?: string } = {}): Promise<File> =>
  toFile(await (builtin("node:fs") as Builtin).openAsBlob(path), baseName(path), options);

/** A file of bytes, a blob, or an answer of `fetch`. */
export async function toFile(
  data: Blob | ArrayBuffer | ArrayBufferView<ArrayBuffer> | string | Response,
  name = "file",
  { type }: { type?: string } = {},
): Promise<File> {
  const part = data instanceof Response ? await data.blob() : data;
  return new File([part], name, { type: type ?? (part instanceof Blob ? part.type : "") });
}

/** Runs work in four lanes: runtimes open few connections, and a file that is read whole is in memory. */
export function inLanes() {
  const lanes: Promise<unknown>[] = [];
  let count = 0;
  return <T>(work: () => Promise<T>): Promise<T> => {
    const lane = count++ % 4;
    const done = Promise.resolve(lanes[lane]).then(work);
    lanes[lane] = done.then(
      () => 0,
      () => 0,
    );
    return done;
  };
}

/** A file of a result whose head has arrived. Read it once: as a stream, bytes or a blob, or save it. */
export class Download {
  readonly name: string;
  readonly type: string;
  /** Bytes; undefined if the answer does not say. */
  readonly size: number | undefined;
  constructor(
    readonly url: string,
    private readonly head: Response,
    /** Asks for the rest of the file after a cut, or for all of it if only its head was asked for. */
    private readonly resume: (from: number, etag: string | null) => Promise<Response>,
    /** For reading all of it at once; a stream is read when its reader wants to. */
    private readonly lanes: ReturnType<typeof inLanes>,
  ) {
    const [, plain, coded] = /filename(?:="?([^";]+)|.*'(.+))/.exec(head.headers.get("content-disposition") ?? "") ?? [];
    // A name never leads to another folder.
    this.name = baseName(plain ?? decodeURIComponent(coded ?? new URL(url).pathname));
    this.type = head.headers.get("content-type") ?? "application/octet-stream";
    this.size = Number(head.headers.get("content-length")) || undefined;
  }
  /** The bytes as they arrive. A cut connection is continued where it ended. */
  stream(): ReadableStream<Uint8Array<ArrayBuffer>> {
    const etag = this.head.headers.get("etag");
    let reader = this.head.body?.getReader();
    let received = 0;
    let cuts = 0;
    const { resume, size } = this;
    return new ReadableStream({
      async pull(controller) {
        for (;;) {
          try {
            const { done, value } = (await reader?.read()) ?? { done: true as const, value: undefined };
            if (!done) {
              received += value.length;
              cuts = 0;
              return controller.enqueue(value);
            }
            if (reader && (!size || received === size)) return controller.close();
            throw new ConnectionError("The file was cut.");
          } catch (error) {
            if (!(error instanceof ConnectionError) || ++cuts > 3) return controller.error(error);
            const rest = await resume(received, etag);
            // Another file by now: the parts do not belong together.
            if (rest.status !== 206) return controller.error(error);
            reader = rest.body?.getReader();
          }
        }
      },
      cancel: async (reason) => reader?.cancel(reason),
    });
  }
  blob = (): Promise<Blob> => this.lanes(() => new Response(this.stream(), { headers: { "content-type": this.type } }).blob());
  bytes = async (): Promise<Uint8Array<ArrayBuffer>> => new Uint8Array(await (await this.blob()).arrayBuffer());
  /** Writes the file to the disk, by default under its name in the current folder: until it is whole, as `{path}.part`. Returns the path. */
  save = (path = this.name): Promise<string> =>
    this.lanes(async () => {
      const fs = builtin("node:fs") as Builtin;
      const { Writable } = builtin("node:stream") as { Writable: { toWeb(stream: unknown): WritableStream } };
      const partial = `${path}.part`;
      try {
        await this.stream().pipeTo(Writable.toWeb(fs.createWriteStream(partial)));
        await fs.promises.rename(partial, path);
      } catch (error) {
        await fs.promises.rm(partial, { force: true });
        throw error;
      }
      return path;
    });
}
