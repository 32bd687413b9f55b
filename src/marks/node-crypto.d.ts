/** The part of Node's crypto that this Worker uses: the types of Node would replace the runtime's own. */

declare module "node:crypto" {
  interface KeyObject {
    export(options: { type: "pkcs8" | "spki"; format: "der" }): Uint8Array<ArrayBuffer>;
  }
  /** Throws if the text is not a private key as PEM. */
  export function createPrivateKey(pem: string): KeyObject;
  export class X509Certificate {
    /** Throws if the text is not a certificate as PEM. */
    constructor(pem: string);
    /** True if it is an authority's. */
    readonly ca: boolean;
    /** DER. */
    readonly raw: Uint8Array<ArrayBuffer>;
    readonly publicKey: KeyObject;
    /** Dates as text. */
    readonly validFrom: string;
    readonly validTo: string;
  }
}
