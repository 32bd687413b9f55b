/** The types of `standardwebhooks` that tests use: the package's own would add Node's types to the Workers' program. */

export declare class Webhook {
  constructor(secret: string);
  /** The parsed body; throws if no signature in the headers matches the secret. */
  verify(payload: string, headers: Record<string, string>): unknown;
}
