/** The operator's signing credential: its certificate chain and private key, checked once for each value of the secrets. */

import { createPrivateKey, X509Certificate } from "node:crypto";

const curve = { name: "ECDSA", namedCurve: "P-256" };
const es256 = { name: "ECDSA", hash: "SHA-256" };

/** The secrets are missing or wrong. The message names them and what is wrong, and never contains a value. */
export class CredentialError extends Error {
  override readonly name = "CredentialError";
}

export interface Credential {
  /** DER, the signing certificate first. */
  certificates: Uint8Array[];
  key: CryptoKey;
  /** Milliseconds since the epoch: from the first until the last moment at which every certificate is valid. */
  notBefore: number;
  notAfter: number;
}

/** A chain has two or three certificates of about 1 KB. More would not fit into the space that images reserve for a manifest. */
const maxChainBytes = 5 * 1024;

let known: { of: string; credential: Promise<Credential> } | undefined;

/** The credential of these secrets, if it is valid now. Throws `CredentialError`. */
export async function readCredential({ C2PA_CERTIFICATES: chain, C2PA_PRIVATE_KEY: key }: MarksEnv, now: Date): Promise<Credential> {
  if (!chain) throw new CredentialError("C2PA_CERTIFICATES is not set");
  if (!key) throw new CredentialError("C2PA_PRIVATE_KEY is not set");
  const of = `${chain}\n${key}`;
  if (known?.of !== of) known = { of, credential: parse(chain, key) };
  const credential = await known.credential;
  if (now.getTime() < credential.notBefore) throw new CredentialError("C2PA_CERTIFICATES is not valid yet");
  if (now.getTime() > credential.notAfter) throw new CredentialError("C2PA_CERTIFICATES has expired");
  return credential;
}

async function parse(chain: string, key: string): Promise<Credential> {
  const certificates = parseChain(chain);
  const [leaf] = certificates;
  if (!leaf) throw new CredentialError("C2PA_CERTIFICATES contains no certificate as PEM");
  if (leaf.ca) throw new CredentialError("C2PA_CERTIFICATES must begin with the signing certificate, and begins with an authority's");
  const der = certificates.map(({ raw }) => new Uint8Array(raw));
  if (der.reduce((sum, { length }) => sum + length, 0) > maxChainBytes)
    throw new CredentialError(`C2PA_CERTIFICATES is longer than ${maxChainBytes} bytes as DER: leave out the root`);
  const privateKey = parseKey(key);
  const pkcs8 = new Uint8Array(privateKey.export({ type: "pkcs8", format: "der" }));
  const imported = await crypto.subtle.importKey("pkcs8", pkcs8, curve, false, ["sign"]).catch(() => {
    throw new CredentialError("C2PA_PRIVATE_KEY is not a key of the curve P-256");
  });
  if (!(await isPair(leaf, imported)))
    throw new CredentialError("C2PA_PRIVATE_KEY is not the key of the first certificate of C2PA_CERTIFICATES");
  return {
    certificates: der,
    key: imported,
    notBefore: Math.max(...certificates.map(({ validFrom }) => Date.parse(validFrom))),
    notAfter: Math.min(...certificates.map(({ validTo }) => Date.parse(validTo))),
  };
}

/** Tries it, because workerd's `checkPrivateKey` refuses keys that belong to the certificate. */
async function isPair(certificate: X509Certificate, key: CryptoKey): Promise<boolean> {
  const probe = new Uint8Array(32);
  const spki = new Uint8Array(certificate.publicKey.export({ type: "spki", format: "der" }));
  try {
    const publicKey = await crypto.subtle.importKey("spki", spki, curve, false, ["verify"]);
    return await crypto.subtle.verify(es256, publicKey, await crypto.subtle.sign(es256, key, probe), probe);
  } catch {
    return false; // a key of another kind
  }
}

function parseChain(chain: string): X509Certificate[] {
  try {
    return Array.from(
      withLineBreaks(chain).matchAll(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g),
      ([pem]) => new X509Certificate(pem),
    );
  } catch {
    throw new CredentialError("C2PA_CERTIFICATES contains a certificate that cannot be read");
  }
}

function parseKey(key: string) {
  try {
    return createPrivateKey(withLineBreaks(key));
  } catch {
    throw new CredentialError("C2PA_PRIVATE_KEY is not a private key as PEM");
  }
}

/** A file of variables on one line writes line breaks as `\n`. */
const withLineBreaks = (pem: string) => pem.replaceAll("\\n", "\n");
