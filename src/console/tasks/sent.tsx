/** A task's request as programs and as JSON. */

import type { ConsoleContext } from "../context.ts";
import type { Submission } from "../../tasks/record.ts";
import { Code } from "../parts/code.tsx";
import { buildSnippets } from "../playground/snippets.ts";
import { toApiRequest } from "./request.ts";

export async function sentCode(c: ConsoleContext, submission: Submission) {
  const { path, body } = await toApiRequest(c, submission);
  const { curl, javascript, python } = buildSnippets({
    base: new URL(c.req.url).origin,
    path,
    body: body as Record<string, unknown>,
    isChat: false,
  });
  return (
    <Code
      name="request"
      tabs={[
        { id: "request-curl", title: "curl", code: curl },
        { id: "request-python", title: "Python", code: python },
        { id: "request-javascript", title: "JavaScript", code: javascript },
        { id: "request-json", title: "JSON", code: JSON.stringify(body, undefined, 2) },
      ]}
    />
  );
}
