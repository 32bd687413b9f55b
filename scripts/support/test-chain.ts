/** Makes a certificate chain for signing files on this machine. Its names say that it is a test: no trust list contains it. */

import "reflect-metadata"; // which @peculiar/x509 wants loaded before it

import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  PemConverter,
  SubjectKeyIdentifierExtension,
  X509CertificateGenerator,
} from "@peculiar/x509";

const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
/** Long, because the local state may be kept for years. */
const lifetimeMs = 10 * 365 * 24 * 60 * 60_000;
/** Signing C2PA claims (`c2pa-kp-claimSigning`), and protecting e-mail, which validators of earlier versions want (C2PA 2.2, 14.5.1). */
const purposes = ["1.3.6.1.4.1.62558.2.1", "1.3.6.1.5.5.7.3.4"];

/** The secrets of the marks Worker with a new test chain: a signing certificate and the authority that issued it. */
export async function newTestChain(): Promise<{ C2PA_CERTIFICATES: string; C2PA_PRIVATE_KEY: string }> {
  const make = () => crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const [authority, signer] = await Promise.all([make(), make()]);
  const notBefore = new Date(Date.now() - 60_000);
  const notAfter = new Date(notBefore.getTime() + lifetimeMs);
  const organization = "O=Generation gateway (test certificate), C=XX";
  const authorityName = `CN=Test authority of this machine, ${organization}`;
  const authorityId = await SubjectKeyIdentifierExtension.create(authority.publicKey, false);
  const common = { notBefore, notAfter, signingAlgorithm: algorithm };
  const root = await X509CertificateGenerator.createSelfSigned({
    ...common,
    name: authorityName,
    keys: authority,
    extensions: [new BasicConstraintsExtension(true, 0, true), new KeyUsagesExtension(KeyUsageFlags.keyCertSign, true), authorityId],
  });
  const leaf = await X509CertificateGenerator.create({
    ...common,
    subject: `CN=Test certificate, ${organization}`,
    issuer: authorityName,
    publicKey: signer.publicKey,
    signingKey: authority.privateKey,
    extensions: [
      new BasicConstraintsExtension(false, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
      new ExtendedKeyUsageExtension(purposes, false),
      await SubjectKeyIdentifierExtension.create(signer.publicKey, false),
      await AuthorityKeyIdentifierExtension.create(authority.publicKey, false),
    ],
  });
  const key = PemConverter.encode(await crypto.subtle.exportKey("pkcs8", signer.privateKey), "PRIVATE KEY");
  return { C2PA_CERTIFICATES: `${leaf.toString("pem")}\n${root.toString("pem")}\n`, C2PA_PRIVATE_KEY: `${key}\n` };
}
