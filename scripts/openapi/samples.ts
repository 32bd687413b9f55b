/** `x-codeSamples`: each call as a command of curl, and with the clients for TypeScript and Python. */

import type { Operation } from "./definition.ts";

/** A call in TypeScript and in Python: `answer` is the variable that gets its answer, `fields` are what TypeScript takes of it. */
type Call = [typescript: string, python: string];

const toPythonCall = (call: string) => call.replace(/^[\w.]+/, (names) => names.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`));

const one = (answer: string, call: string, fields?: string): Call => [
  `const ${fields === undefined ? answer : `{ ${fields} }`} = await gateway.${call}`,
  `${answer} = gateway.${toPythonCall(call)}`,
];
const none = (call: string): Call => [`await gateway.${call}`, `gateway.${toPythonCall(call)}`];
const each = (row: string, call: string, ...fields: string[]): Call => [
  `for await (const { ${fields.join(", ")} } of gateway.${call}) console.log(${fields.join(", ")})`,
  `for ${row} in gateway.${toPythonCall(call)}:\n    print(${fields.map((field) => `${row}["${field}"]`).join(", ")})`,
];

/** The calls for which the clients have a method, by operation; `BODY` is the operation's first example. */
const calls: Record<string, Call> = {
  createImage: one("task", "images.generate(BODY)"),
  createVideo: one("task", "videos.generate(BODY)"),
  createTask: one("task", "tasks.generate(BODY)"),
  remixVideo: one("task", 'videos.remix("ID", BODY)'),
  createEstimate: ["const { price } = await gateway.estimates.create(BODY)", "estimate = gateway.estimate(BODY)"],
  createChatCompletion: one("answer", "chat.completions.create(BODY)"),
  listTasks: each("task", "tasks.list()", "id", "status"),
  getTask: one("task", 'tasks.wait("ID")'),
  streamTask: each("task", 'tasks.stream("ID")', "status", "progress"),
  cancelTask: one("task", 'tasks.cancel("ID")'),
  deleteTask: none('tasks.delete("ID")'),
  getReceipt: one("receipt", 'tasks.receipt("ID")', "receipt, jws"),
  listModels: one("models", "models.list()"),
  listCharacters: each("character", "characters.list()", "username"),
  createFile: ['const { id } = await gateway.files.upload(await file("picture.png"))', 'uploaded = gateway.files.upload("picture.png")'],
  createBatch: one("batch", "batches.create(BODY)"),
  getBatch: one("batch", 'batches.wait("ID")'),
  getBatchResults: each("result", 'batches.results("ID")', "custom_id", "status"),
  getAccountBalance: one("balance", "account.balance()", "remain_balance"),
  getKey: one("key", "account.key()"),
  createToken: ["const { token } = await gateway.tokens.create(BODY)", "token = gateway.create_token(BODY)"],
  setDestination: one("destination", 'destinations.set("ID", BODY)'),
  getModel: one("model", 'models.retrieve("ID")'),
  deleteCharacter: none('characters.delete("ID")'),
  getKeyBalance: one("balance", "account.keyBalance()", "remain_balance"),
  getUsage: one("usage", "account.usage()"),
  listFiles: each("file", "files.list()", "id", "type"),
  getFile: one("stored", 'files.retrieve("ID")'),
  deleteFile: none('files.delete("ID")'),
  getFileContent: ['const content = await gateway.files.download("ID");\nawait content.save()', 'gateway.files.download("ID").save()'],
  listBatches: each("batch", "batches.list()", "id", "status"),
  cancelBatch: one("batch", 'batches.cancel("ID")'),
  getWebhook: one("webhook", "webhook.retrieve()", "url"),
  setWebhook: none('webhook.set("https://shop.example/hook")'),
  testWebhook: one("test", "webhook.test()"),
  getWebhookSecret: one("secret", "webhook.secret()", "secret"),
  rotateWebhookSecret: one("secret", "webhook.rotateSecret()", "secret"),
  listEvents: each("event", "webhook.events()", "type", "task"),
  listDestinations: one("destinations", "destinations.list()"),
  getDestination: one("destination", 'destinations.retrieve("ID")'),
  deleteDestination: none('destinations.delete("ID")'),
  testDestination: one("test", 'destinations.test("ID")'),
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
