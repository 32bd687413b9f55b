/** What a manifest is bound to: the hash of a file without the part that will hold the manifest; and the order to sign one. */

export type FileBinding =
  | { kind: "data"; /** SHA-256 */ hash: Uint8Array; exclusion: { start: number; length: number } }
  | { kind: "bmff"; /** SHA-256 */ hash: Uint8Array; /** The id of the box that holds the manifest. */ uuid: Uint8Array };

/** An order for a signed manifest: nothing about the caller, the prompt or the task. */
export interface SignOrder {
  binding: FileBinding;
  /** True if the file was made from media of the caller, not from a description alone. */
  isComposite: boolean;
  /** The program that made the file, as the manifest names it. */
  generator: string;
  /** The exact length of the manifest, if its place in the file is already fixed. */
  bytes?: number;
}

/** A manifest store, or why there is none: the secret and what is wrong with it. */
export type Signed = { manifest: Uint8Array<ArrayBuffer> } | { refused: string };

/** Until when the operator's certificate signs (milliseconds since the epoch), or why nothing signs. */
export type CertificateState = { ends: number } | { refused: string };
