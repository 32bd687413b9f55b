/** `x-codeSamples`: each call as a command of curl, and in JavaScript and Python: with the clients where these have it, else without any library. */

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
  setDestination: [
    'const destination = await gateway.destinations.set("shop", BODY)',
    'destination = gateway.destinations.set("shop", BODY)',
  ],
};

/** The samples of an operation; `ids` are the examples of its path's parameters, `body` is that of its body. */
export function codeSamples(method: string, path: string, operation: Operation, ids: Record<string, string>, body: unknown): object[] {
  const { id } = operation;
  const url = path.replace(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? name);
  const samples = [{ lang: "Shell", label: "curl", source: toCurl(method, url, operation, body) }];
  const call = calls[id];
  if (!call)
    return operation.upload ? samples : [...samples, toFetch(method, url, operation, body), toUrllib(method, url, operation, body)];
  const [typescript, python] = call.map((text) => text.replace('"ID"', `"${Object.values(ids)[0] ?? ""}"`));
  const named = id === "createFile" ? "file, Gateway" : "Gateway";
  return [
    ...samples,
    {
      lang: "TypeScript",
      label: "generation-gateway-client",
      source: `import { ${named} } from "generation-gateway-client";\n\nconst gateway = new Gateway();\n${typescript?.replace("BODY", () => JSON.stringify(body, null, 2))};`,
    },
    {
      lang: "Python",
      label: "generation-gateway",
      source: `from generation_gateway import Gateway\n\ngateway = Gateway()\n${python?.replace("BODY", () => toPython(body))}`,
    },
  ];
}

/** The variable with what opens an operation; undefined if it is open to all. */
const findSecret = ({ security = "key" }: Operation): string | undefined =>
  ({ key: "GATEWAY_KEY", token: "GATEWAY_KEY", admin: "ADMIN_TOKEN", none: undefined })[security];

function toFetch(method: string, url: string, operation: Operation, body: unknown): object {
  const secret = findSecret(operation);
  const headers = [
    ...(secret === undefined ? [] : [`Authorization: \`Bearer \${process.env.${secret}}\``]),
    ...(body === undefined ? [] : ['"Content-Type": "application/json"']),
  ];
  const options = [
    ...(method === "GET" ? [] : [`method: "${method}"`]),
    ...(headers.length > 0 ? [`headers: { ${headers.join(", ")} }`] : []),
    ...(body === undefined ? [] : [`body: JSON.stringify(${JSON.stringify(body, null, 2).replaceAll("\n", "\n  ")})`]),
  ];
  const more = options.length === 0 ? "" : `, {\n${options.map((option) => `  ${option},\n`).join("")}}`;
  return {
    lang: "JavaScript",
    label: "fetch",
    source: `const answer = await fetch(\`\${process.env.GATEWAY_URL}${url}\`${more});\nconsole.log(answer.status, await answer.text());`,
  };
}

function toUrllib(method: string, url: string, operation: Operation, body: unknown): object {
  const secret = findSecret(operation);
  const headers = [
    ...(secret === undefined ? [] : [`"Authorization": "Bearer " + os.environ["${secret}"]`]),
    ...(body === undefined ? [] : ['"Content-Type": "application/json"']),
  ];
  const options = [
    ...(method === "GET" ? [] : [`method="${method}"`]),
    ...(headers.length > 0 ? [`headers={${headers.join(", ")}}`] : []),
    ...(body === undefined ? [] : [`data=json.dumps(${toPython(body).replaceAll("\n", "\n    ")}).encode()`]),
  ];
  const address = `os.environ["GATEWAY_URL"] + "${url}"`;
  const imports = [...(body === undefined ? [] : ["import json"]), "import os", "from urllib.request import Request, urlopen"];
  const lines = [address, ...options].map((one) => `    ${one},`).join("\n");
  return {
    lang: "Python",
    label: "urllib",
    source: `${imports.join("\n")}\n\nrequest = Request(\n${lines}\n)\nprint(urlopen(request).read().decode())`,
  };
}

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
