/** The Workers runtime's stream that hashes, for modules of `src/` that tests in Node import. */

interface Crypto {
  DigestStream: new (algorithm: "SHA-256") => WritableStream<Uint8Array> & { readonly digest: Promise<ArrayBuffer> };
}
