/**
 * The marks Worker: signs C2PA manifests for files that the gateway stores. It gets hashes, never files; the gateway puts the manifests into
 * the files. It is the only Worker that has the operator's signing key. Reached only by a service binding.
 */

import { WorkerEntrypoint } from "cloudflare:workers";
import type { CertificateState, Signed, SignOrder } from "../media/file-binding.ts";
import { CredentialError, readCredential } from "./credential.ts";
import { buildManifest } from "./manifest.ts";

export default class Marks extends WorkerEntrypoint<MarksEnv> {
  /** A signed manifest store for a file with this hash; refused if the secrets are missing, wrong, or of another time. */
  async sign(order: SignOrder): Promise<Signed> {
    const now = new Date();
    try {
      return { manifest: await buildManifest(order, await readCredential(this.env, now), now) };
    } catch (error) {
      if (error instanceof CredentialError) return { refused: error.message };
      throw error;
    }
  }

  /** Until when this Worker can sign. */
  async certificate(): Promise<CertificateState> {
    try {
      return { ends: (await readCredential(this.env, new Date())).notAfter };
    } catch (error) {
      if (error instanceof CredentialError) return { refused: error.message };
      throw error;
    }
  }
}
