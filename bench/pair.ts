/** Status queries and submissions of the gateway and of another server, compared. */

import type { Bundled } from "./build.ts";
import { gatewayBindings, gatewayCalls } from "./calls.ts";
import { type Comparison, compare, joined, type Slices } from "./comparison.ts";
import { type Call, Client } from "./load.ts";
import { type Server, startServer } from "./server.ts";

/** A running server with its requests: queries of new tasks that have reached a status, and a submission. */
export interface TaskServer {
  server: Server;
  client: Client;
  status: (state: "in_progress" | "completed") => Promise<Call[]>;
  submission: Call;
}

/** Starts both servers. Without `consumes` the messages of submissions are not delivered. */
type StartPair = (consumes: boolean) => Promise<[own: TaskServer, other: TaskServer]>;

/** Starts a gateway, with the requests of a new key. */
export async function startGateway(tempDir: string, bundled: Bundled, consumes: boolean) {
  const server = await startServer(tempDir, { ...bundled, consumes, bindings: gatewayBindings });
  const client = new Client(server.url);
  return { server, client, ...(await gatewayCalls(client)) };
}

// Each server for submissions lives for eight seconds: no consumer reads its queue, and after ten seconds the tasks' objects would start
// their tasks themselves. On a busy machine a server takes fewer turns in that time, so more servers are started.
const submissionSlices: Slices = { turns: 10, warmUps: 1, requests: 100, forMs: 8_000 };
const maxPairs = 12;

/** The comparisons by name. */
export async function comparePair(startPair: StartPair, isQuick = false): Promise<Record<string, Comparison>> {
  const statusSlices: Slices = { turns: isQuick ? 6 : 18, warmUps: 3, requests: 2_000 };
  const submissionTurns = isQuick ? 10 : 30;
  const results: Record<string, Comparison> = {};
  const [own, other] = await startPair(true);
  for (const state of ["in_progress", "completed"] as const)
    results[`status, ${state}`] = await compare(
      { ...own, calls: await own.status(state) },
      { ...other, calls: await other.status(state) },
      statusSlices,
    );
  await stop(own, other);
  const submissions: Comparison[] = [];
  for (let pairs = 0; pairs < maxPairs && joined(submissions).own.length < submissionTurns; pairs++) {
    const [first, second] = await startPair(false);
    submissions.push(await compare({ ...first, calls: [first.submission] }, { ...second, calls: [second.submission] }, submissionSlices));
    await stop(first, second);
  }
  return { ...results, "submission, image": joined(submissions) };
}

async function stop(...sides: TaskServer[]): Promise<void> {
  for (const { server, client } of sides) {
    client.close();
    await server.stop();
  }
}
