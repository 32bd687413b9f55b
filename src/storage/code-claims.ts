/** Who spent or revoked a code: a file in the bucket for each, written once. It decides between calls at the same time, and is not lost when the database is restored. */

/** `account` is null if an operator revoked the code. `at` in milliseconds. */
export interface CodeClaim {
  account: string | null;
  at: number;
}

/** No lifecycle rule has this prefix. */
const claimFile = (codeId: string) => `codes/${codeId}.json`;

/** Claims the code for an account, or for none to revoke it. Returns the claim that counts, which is an earlier one if there is one. Throws if the bucket does not answer; may be repeated. */
export async function claimCode(bucket: R2Bucket, codeId: string, claim: CodeClaim): Promise<CodeClaim> {
  const file = claimFile(codeId);
  const written = await bucket.put(file, JSON.stringify(claim), {
    onlyIf: new Headers({ "if-none-match": "*" }),
    httpMetadata: { contentType: "application/json" },
  });
  if (written) return claim;
  const earlier = await readClaim(bucket, codeId);
  if (!earlier) throw new Error("the claim of a code is not readable");
  return earlier;
}

/** The claim of a code; undefined if it has none. */
export async function readClaim(bucket: R2Bucket, codeId: string): Promise<CodeClaim | undefined> {
  return (await bucket.get(claimFile(codeId)))?.json<CodeClaim>();
}
