/** Keeps the API that the gateway hands to another Worker usable until that Worker's answer has been read. */

/** A stub is valid until the call that passed it returns; a duplicate until it is disposed of. */
type Stub<T> = T & { dup(): T & Disposable };
type Context = Pick<ExecutionContext, "waitUntil">;

/** Serves a request with a duplicate of the API, which stays valid while the answer is streamed. `over` is called when it has ended. */
export async function serveHolding<T extends object>(
  api: T,
  ctx: Context,
  serve: (api: T) => Promise<Response> | Response,
  over?: () => void,
): Promise<Response> {
  const held = (api as Stub<T>).dup();
  const release = () => {
    held[Symbol.dispose]();
    over?.();
  };
  try {
    const response = await serve(held);
    if (response.body) return new Response(whenOver(response.body, ctx, release), response);
    release();
    return response;
  } catch (error) {
    release();
    throw error;
  }
}

/** Passes the bytes on; calls `over` when all have been read or the reader cancels. */
function whenOver(body: ReadableStream<Uint8Array>, ctx: Context, over: () => void): ReadableStream<Uint8Array> {
  const { readable, writable } = new IdentityTransformStream();
  const writer = writable.getWriter();
  // One write for each read instead of `pipeTo`: between two identity streams workerd ends the second one too early for a reader behind
  // RPC.
  const copy = async () => {
    for await (const bytes of body) await writer.write(bytes);
    await writer.close();
  };
  // Awaited: the gateway may end the call while the last bytes are being sent.
  ctx.waitUntil(
    copy()
      .catch((error: unknown) => writer.abort(error))
      .then(over, over),
  );
  return readable;
}
