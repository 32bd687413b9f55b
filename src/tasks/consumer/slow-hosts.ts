/**
 * Accounts whose hosts have kept this isolate waiting lately. Consumers leave their starts to the task objects, whose alarms run them, so that
 * no queue waits for such hosts.
 */

const slowMs = 5_000;
const rememberedMs = 600_000;
const maxRemembered = 10_000;

/** The time until which an account counts as slow, by its id. */
const slow = new Map<string, number>();

/** Call it when a read of a caller's URL begins, and the returned function when the read has ended. A long read makes its account slow. */
export function watchHost(accountId: string): () => void {
  const timer = setTimeout(() => {
    slow.delete(accountId);
    if (slow.size >= maxRemembered) slow.delete(slow.keys().next().value ?? "");
    slow.set(accountId, Date.now() + rememberedMs);
  }, slowMs);
  return () => clearTimeout(timer);
}

/** True if a host of the account has been slow in the last ten minutes. */
export const hasSlowHosts = (accountId: string): boolean => (slow.get(accountId) ?? 0) > Date.now();
