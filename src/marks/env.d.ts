/** Secrets of the marks Worker. */

interface MarksEnv {
  /** The certificate chain as PEM, the signing certificate first, without the root */
  C2PA_CERTIFICATES?: string;
  /** The signing certificate's private key (P-256), PKCS8 as PEM */
  C2PA_PRIVATE_KEY?: string;
}
