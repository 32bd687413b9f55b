/** A request as complete programs that print the result: curl in a shell, JavaScript, Python. Typed text is always quoted as a value. Pure. */

import { ImageFile } from "./image-file.ts";

export interface Program {
  /** The gateway's URL without a trailing slash. */
  base: string;
  path: string;
  body: Record<string, unknown>;
  /** True if the answer is the result; otherwise the answer is a task. */
  isChat: boolean;
}

export type Language = "curl" | "javascript" | "python";

/** The programs. They read the key from `API_KEY` and print the result as JSON, a chat's as text. */
export const buildSnippets = (program: Program): Record<Language, string> => ({
  curl: curl(program),
  javascript: javascript(program),
  python: python(program),
});

/** A literal of a JSON value, indented, with images and keywords in the program's own syntax. */
function literal(
  value: unknown,
  words: { image(image: ImageFile): string; true: string; false: string; null: string },
  indent = "",
): string {
  if (value instanceof ImageFile) return words.image(value);
  if (value === null || typeof value === "boolean") return words[String(value) as "true" | "false" | "null"];
  if (typeof value !== "object") return JSON.stringify(value);
  const deeper = `${indent}  `;
  const isList = Array.isArray(value);
  const items = Object.entries(value).map(
    ([name, item]) => `${deeper}${isList ? "" : `${JSON.stringify(name)}: `}${literal(item, words, deeper)}`,
  );
  const [open, close] = isList ? "[]" : "{}";
  return items.length === 0 ? `${open}${close}` : `${open}\n${items.join(",\n")}\n${indent}${close}`;
}

const json = { true: "true", false: "false", null: "null" };

/** Whether the value contains an image from a file. */
export const hasImages = (value: unknown): boolean =>
  value instanceof ImageFile || (typeof value === "object" && value !== null && Object.values(value).some(hasImages));

/** Within single quotes a shell takes every other character literally. */
export const shellQuoted = (text: string) => `'${text.replaceAll("'", String.raw`'\''`)}'`;

const start = "# export API_KEY=sk-...\n";

function curl({ base, path, body, isChat }: Program): string {
  const headers = `\\\n  -H "Authorization: Bearer $API_KEY"`;
  const typed = `${headers} -H 'Content-Type: application/json' \\\n `;
  const mark = crypto.randomUUID();
  const images: ImageFile[] = [];
  const text = literal(body, { ...json, image: (image) => (images.push(image), mark) });
  // An image is longer than an argument may be: the body is piped to curl.
  const written = text
    .split(mark)
    .map((piece, at) => {
      const image = images[at];
      const before = at === 0 ? "" : `"`;
      if (!image) return `  printf %s ${shellQuoted(before + piece)}\n`;
      return `  printf %s ${shellQuoted(`${before}${piece}"data:${image.type};base64,`)}\n  base64 < ${shellQuoted(image.name)} | tr -d '\\n'\n`;
    })
    .join("");
  const [feed, data] = images.length === 0 ? ["", `-d ${shellQuoted(text)}`] : [`{\n${written}} | `, "--data-binary @-"];
  const ask = `${feed}curl -sS --fail-with-body "$BASE"${shellQuoted(path)} ${typed} ${data}`;
  if (isChat) return `${start}BASE=${shellQuoted(base)}\n${ask}\n`;
  return `${start}BASE=${shellQuoted(base)}
answer=$(${ask}) || { echo "$answer" >&2; exit 1; }
id=$(printf %s "$answer" | sed 's/^{"id":"\\([^"]*\\)".*/\\1/')

while :; do
  answer=$(curl -sS --fail-with-body "$BASE/v1/tasks/$id?wait=30" ${headers}) || { echo "$answer" >&2; exit 1; }
  case $answer in
    *'"status":"completed"'* | *'"status":"failed"'*) break ;;
  esac
done
printf '%s\\n' "$answer"
`;
}

function javascript({ base, path, body, isChat }: Program): string {
  const isIllustrated = hasImages(body);
  const call = literal(body, { ...json, image: ({ name, type }) => `await dataUri(${JSON.stringify(name)}, ${JSON.stringify(type)})` });
  return `// API_KEY=sk-... node generate.mjs
${isIllustrated ? `import { readFile } from "node:fs/promises";\n\n` : ""}const base = ${JSON.stringify(base)};
const headers = { "Authorization": \`Bearer \${process.env.API_KEY}\`, "Content-Type": "application/json" };
${isIllustrated ? 'const dataUri = async (path, type) => `data:${type};base64,${(await readFile(path)).toString("base64")}`;\n' : ""}
async function ask(path, body) {
  const response = await fetch(base + path, body ? { method: "POST", headers, body: JSON.stringify(body) } : { headers });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error.message);
  return answer;
}

const answer = await ask(${JSON.stringify(path)}, ${call});
${
  isChat
    ? "console.log(answer.choices[0].message.content);\n"
    : `let task;
do ({ data: task } = await ask(\`/v1/tasks/\${answer.id}?wait=30\`));
while (task.status !== "completed" && task.status !== "failed");
if (task.status === "failed") throw new Error(task.error.message);
console.log(JSON.stringify(task.result, null, 2));
`
}`;
}

function python({ base, path, body, isChat }: Program): string {
  const isIllustrated = hasImages(body);
  const call = literal(body, {
    true: "True",
    false: "False",
    null: "None",
    image: ({ name, type }) => `data_uri(${JSON.stringify(name)}, ${JSON.stringify(type)})`,
  });
  return `# API_KEY=sk-... python3 generate.py
${isIllustrated ? "import base64\n" : ""}import json
import os
import urllib.error
import urllib.request

base = ${JSON.stringify(base)}
headers = {"Authorization": "Bearer " + os.environ["API_KEY"], "Content-Type": "application/json"}

${isIllustrated ? `\ndef data_uri(path, type):\n    with open(path, "rb") as file:\n        return f"data:{type};base64," + base64.b64encode(file.read()).decode()\n\n` : ""}
def ask(path, body=None):
    data = None if body is None else json.dumps(body).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(base + path, data, headers)) as response:
            return json.load(response)
    except urllib.error.HTTPError as error:
        raise SystemExit(error.read().decode())


answer = ask(${JSON.stringify(path)}, ${call})
${
  isChat
    ? `print(answer["choices"][0]["message"]["content"])\n`
    : `task = {"status": "queued"}
while task["status"] not in ("completed", "failed"):
    task = ask("/v1/tasks/" + answer["id"] + "?wait=30")["data"]
if task["status"] == "failed":
    raise SystemExit(task["error"]["message"])
print(json.dumps(task["result"], indent=2))
`
}`;
}
