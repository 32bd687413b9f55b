/** The types of `standardwebhooks` that tests use: the package's own would add Node's types to the Workers' program. */

export declare class Webhook {
  constructor(secret: string);
  /** The parsed body; throws if no signature in the headers matches the secret. */
  sign(msgId: string, timestamp: Date, payload: string): string;
  verify(payload: string, headers: Record<string, string>): unknown;
}
