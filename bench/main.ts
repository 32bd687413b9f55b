/** `npm run bench [-- NAME]`: the benchmarks. Without a name the one of status queries and submissions. */

import { runProgram } from "../scripts/support/programs.ts";

const programs = {
  tasks: ["CPU of status queries and submissions, beside the least that the platform needs: --quick", "bench.ts"],
  against: ["the same of this revision beside another one: REVISION", "against.ts"],
  peers: ["chats through this and other gateways: --rounds 9 --frame --quick", "peers/run.ts"],
  accounts: ["chats of a hundred and of a thousand accounts, beside one: --quick", "peers/accounts.ts"],
  startup: ["start-up of the gateway and the console, beside an empty Worker: --quick", "startups.ts"],
  "large-body": ["large bodies of all kinds in isolates of 128 MB", "large-body/run.ts"],
  answers: ["answers of providers with images inside in an isolate of 128 MB", "large-body/answers.ts"],
  files: ["CPU to store a video and to read a range of it, beside bare calls of the bucket", "large-body/files.ts"],
} as const;

await runProgram("bench", programs, import.meta.url, "tasks");
