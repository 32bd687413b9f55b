/** `x-codeSamples`: each call as a command of curl, and with the clients for TypeScript and Python. */

import type { Operation } from "./definition.ts";

/** By operation, the call of the TypeScript client and that of the Python client; `BODY` is the operation's first example. */
const calls: Record<string, [typescript: string, python: string]> = {
  createImage: ["const task = await gateway.images.generate(BODY)", "task = gateway.images.generate(BODY)"],
  createVideo: ["const task = await gateway.videos.generate(BODY)", "task = gateway.videos.generate(BODY)"],
  createTask: ["const task = await gateway.tasks.generate(BODY)", "task = gateway.tasks.generate(BODY)"],
  remixVideo: ['const task = await gateway.videos.remix("ID", BODY)', 'task = gateway.videos.remix("ID", BODY)'],
  createEstimate: ["const { price } = await gateway.estimates.create(BODY)", "estimate = gateway.estimate(BODY)"],
  createChatCompletion: ["const answer = await gateway.chat.completions.create(BODY)", "answer = gateway.chat.completions.create(BODY)"],
  listTasks: [
    "for await (const { id, status } of gateway.tasks.list()) console.log(id, status)",
    'for task in gateway.tasks.list():\n    print(task["id"], task["status"])',
  ],
  getTask: ['const task = await gateway.tasks.wait("ID")', 'task = gateway.tasks.wait("ID")'],
  streamTask: [
    'for await (const { status, progress } of gateway.tasks.stream("ID")) console.log(status, progress)',
    'for task in gateway.tasks.stream("ID"):\n    print(task["status"], task["progress"])',
  ],
  cancelTask: ['const task = await gateway.tasks.cancel("ID")', 'task = gateway.tasks.cancel("ID")'],
  deleteTask: ['await gateway.tasks.delete("ID")', 'gateway.tasks.delete("ID")'],
  getReceipt: ['const { receipt, jws } = await gateway.tasks.receipt("ID")', 'receipt = gateway.tasks.receipt("ID")'],
  listModels: ["const models = await gateway.models.list()", "models = gateway.models.list()"],
  listCharacters: [
    "for await (const { username } of gateway.characters.list()) console.log(username)",
    'for character in gateway.characters.list():\n    print(character["username"])',
  ],
  createFile: ['const { id } = await gateway.files.upload(await file("picture.png"))', 'uploaded = gateway.files.upload("picture.png")'],
  createBatch: ["const batch = await gateway.batches.create(BODY)", "batch = gateway.batches.create(BODY)"],
  getBatch: ['const batch = await gateway.batches.wait("ID")', 'batch = gateway.batches.wait("ID")'],
  getBatchResults: [
    'for await (const { custom_id, status } of gateway.batches.results("ID")) console.log(custom_id, status)',
    'for result in gateway.batches.results("ID"):\n    print(result["custom_id"], result["status"])',
  ],
  getAccountBalance: ["const { remain_balance } = await gateway.account.balance()", "balance = gateway.account.balance()"],
  getKey: ["const key = await gateway.account.key()", "key = gateway.account.key()"],
  createToken: ["const { token } = await gateway.tokens.create(BODY)", "token = gateway.create_token(BODY)"],
  setDestination: ['const destination = await gateway.destinations.set("ID", BODY)', 'destination = gateway.destinations.set("ID", BODY)'],
  getModel: ['const model = await gateway.models.retrieve("ID")', 'model = gateway.models.retrieve("ID")'],
  deleteCharacter: ['await gateway.characters.delete("ID")', 'gateway.characters.delete("ID")'],
  getKeyBalance: ["const { remain_balance } = await gateway.account.keyBalance()", "balance = gateway.account.key_balance()"],
  getUsage: ["const usage = await gateway.account.usage()", "usage = gateway.account.usage()"],
  listFiles: [
    "for await (const { id, type } of gateway.files.list()) console.log(id, type)",
    'for file in gateway.files.list():\n    print(file["id"], file["type"])',
  ],
  getFile: ['const stored = await gateway.files.retrieve("ID")', 'stored = gateway.files.retrieve("ID")'],
  deleteFile: ['await gateway.files.delete("ID")', 'gateway.files.delete("ID")'],
  getFileContent: ['const content = await gateway.files.download("ID");\nawait content.save()', 'gateway.files.download("ID").save()'],
  listBatches: [
    "for await (const { id, status } of gateway.batches.list()) console.log(id, status)",
    'for batch in gateway.batches.list():\n    print(batch["id"], batch["status"])',
  ],
  cancelBatch: ['const batch = await gateway.batches.cancel("ID")', 'batch = gateway.batches.cancel("ID")'],
  getWebhook: ["const { url } = await gateway.webhook.retrieve()", "webhook = gateway.webhook.retrieve()"],
  setWebhook: ['await gateway.webhook.set("https://shop.example/hook")', 'gateway.webhook.set("https://shop.example/hook")'],
  testWebhook: ["const test = await gateway.webhook.test()", "test = gateway.webhook.test()"],
  getWebhookSecret: ["const { secret } = await gateway.webhook.secret()", "secret = gateway.webhook.secret()"],
  rotateWebhookSecret: ["const { secret } = await gateway.webhook.rotateSecret()", "secret = gateway.webhook.rotate_secret()"],
  listEvents: [
    "for await (const { type, task } of gateway.webhook.events()) console.log(type, task)",
    'for event in gateway.webhook.events():\n    print(event["type"], event["task"])',
  ],
  listDestinations: ["const destinations = await gateway.destinations.list()", "destinations = gateway.destinations.list()"],
  getDestination: ['const destination = await gateway.destinations.retrieve("ID")', 'destination = gateway.destinations.retrieve("ID")'],
  deleteDestination: ['await gateway.destinations.delete("ID")', 'gateway.destinations.delete("ID")'],
  testDestination: ['const test = await gateway.destinations.test("ID")', 'test = gateway.destinations.test("ID")'],
};

/** The samples of an operation; `ids` are the examples of its path's parameters, `body` is that of its body. */
export function codeSamples(method: string, path: string, operation: Operation, ids: Record<string, string>, body: unknown): object[] {
  const url = path.replace(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? name);
  const [typescript, python] = (calls[operation.id] ?? toRequest(method, url, operation, body)).map((text) =>
    text.replace('"ID"', `"${Object.values(ids)[0] ?? ""}"`),
  );
  const isAdmin = operation.security === "admin";
  const named = operation.id === "createFile" ? "file, Gateway" : "Gateway";
  const options = isAdmin ? "{ apiKey: process.env.ADMIN_TOKEN }" : "";
  const argument = isAdmin ? 'api_key=os.environ["ADMIN_TOKEN"]' : "";
  return [
    { lang: "Shell", label: "curl", source: toCurl(method, url, operation, body) },
    {
      lang: "TypeScript",
      label: "generation-gateway-client",
      source: `import { ${named} } from "generation-gateway-client";\n\nconst gateway = new Gateway(${options});\n${typescript?.replace("BODY", () => JSON.stringify(body, null, 2))};`,
    },
    {
      lang: "Python",
      label: "generation-gateway",
      source: `${isAdmin ? "import os\n" : ""}from generation_gateway import Gateway\n\ngateway = Gateway(${argument})\n${python?.replace("BODY", () => toPython(body))}`,
    },
  ];
}

/** The call of an operation for which the clients have no method: of its path, or of the file that it answers. */
function toRequest(method: string, url: string, { answers }: Operation, body: unknown): [typescript: string, python: string] {
  const [first] = Object.values(answers);
  if (first?.content && !first.content["application/json"])
    return [`const content = await gateway.download("${url}");\nawait content.save()`, `gateway.download("${url}").save()`];
  const [options, argument] = body === undefined ? ["", ""] : [", { body: BODY }", ", body=BODY"];
  return [
    `const answer = await gateway.request("${method}", "${url}"${options})`,
    `answer = gateway.request("${method}", "${url}"${argument})`,
  ];
}

/** The variable with what opens an operation; undefined if it is open to all. */
const findSecret = ({ security = "key" }: Operation): string | undefined =>
  ({ key: "GATEWAY_KEY", token: "GATEWAY_KEY", admin: "ADMIN_TOKEN", none: undefined })[security];

function toCurl(method: string, url: string, operation: Operation, body: unknown): string {
  const { upload } = operation;
  const secret = findSecret(operation);
  const address = `"$GATEWAY_URL${url}"`;
  const lines = [
    `curl -sS ${method === "GET" || method === "POST" ? "" : `-X ${method} `}${address}`,
    ...(secret === undefined ? [] : [`-H "Authorization: Bearer $${secret}"`]),
    ...(upload ? ["-F file=@picture.png"] : []),
    ...(body === undefined ? [] : ['-H "Content-Type: application/json"', `-d '${JSON.stringify(body).replaceAll("'", "'\\''")}'`]),
  ];
  const isEmpty = method === "POST" && body === undefined && !upload;
  return [...lines, ...(isEmpty ? ["-X POST"] : [])].join(" \\\n  ");
}

/** JSON as a literal of Python. */
const toPython = (value: unknown): string =>
  JSON.stringify(value, null, 4).replace(
    /: (true|false|null)\b/g,
    (_, word: string) => `: ${{ true: "True", false: "False" }[word] ?? "None"}`,
  );
