/** The first bytes of a body, read to detect its type, and the body as a whole again. */

/** A body whose first bytes were read. */
export interface Begun {
  head: Uint8Array;
  rest: AsyncIterator<Uint8Array>;
}

/** Reads at least this many bytes of a body, unless it is shorter. */
export async function readHead(body: AsyncIterable<Uint8Array>, bytes: number): Promise<Begun> {
  const rest = body[Symbol.asyncIterator]();
  let head: Uint8Array = new Uint8Array();
  while (head.byteLength < bytes) {
    const { done, value } = await rest.next();
    if (done) break;
    // A piece is valid until the next one is read.
    head = head.byteLength === 0 && value.byteLength >= bytes ? value : await join(head, value);
  }
  return { head, rest };
}

const join = async (...pieces: Uint8Array[]) => new Uint8Array(await new Blob(pieces).arrayBuffer());

/** All pieces of the body. */
export async function* whole({ head, rest }: Begun): AsyncGenerator<Uint8Array, void> {
  try {
    yield head;
    for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
  } finally {
    await rest.return?.();
  }
}
