/** The programs on the webhooks page accept what the gateway signs, and nothing else. */

import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { Webhook } from "standardwebhooks";
import { expect, test } from "vitest";
import { verifiers } from "../../src/console/webhooks/verify.ts";

const secret = `whsec_${randomBytes(32).toString("base64")}`;
const body = JSON.stringify({ type: "task.completed", data: { prompt: "Wellen · 波" } });

/** The headers of a signed message; the second signature is the one that a rotation adds. */
function signed(at = new Date()): Record<string, string> {
  const signature = `v1,${randomBytes(32).toString("base64")} ${new Webhook(secret).sign("evt_1", at, body)}`;
  return { "webhook-id": "evt_1", "webhook-timestamp": String(Math.floor(at.getTime() / 1000)), "webhook-signature": signature };
}

const endings = {
  JavaScript: (program: string): [string, string[]] => [
    process.execPath,
    ["--input-type=module", "-e", `${program}\nconst [headers, body] = JSON.parse(process.argv[1]);\nconsole.log(verify(headers, body));`],
  ],
  Python: (program: string): [string, string[]] => [
    "python3",
    ["-c", `${program}\nimport json, sys\nheaders, body = json.loads(sys.argv[1])\nprint(str(verify(headers, body.encode())).lower())`],
  ],
};

test.each(verifiers)("$title", ({ title, code }) => {
  const accepts = (headers: Record<string, string>, text = body) => {
    const [command, args] = endings[title as keyof typeof endings](code);
    const env = { ...process.env, WEBHOOK_SECRET: secret };
    return execFileSync(command, [...args, JSON.stringify([headers, text])], { env, encoding: "utf8" }).trim();
  };
  expect(accepts(signed())).toBe("true");
  expect(accepts(signed(), `${body} `)).toBe("false");
  expect(accepts({ ...signed(), "webhook-id": "evt_2" })).toBe("false");
  expect(accepts(signed(new Date(Date.now() - 600_000)))).toBe("false");
});
