/** The description's introduction to the API. */

export const info = {
  title: "Generation gateway",
  license: { name: "All rights reserved", identifier: "LicenseRef-UNLICENSED" },
  summary: "One API for text, images, videos and characters.",
  description: `A submission returns a task at once; query the task until its files are ready. Chat answers in the same request.

**Authentication.** \`Authorization: Bearer sk-...\`. Browsers use tokens (\`st-...\`) that are created with an API key.

**Bodies** are JSON. Unknown fields are ignored, known fields are validated strictly, \`null\` counts as absent. One error reports every violated rule.

**Errors** have one \`error\` object with \`message\`, \`type\`, \`code\` and \`param\`. Paths below \`/v1/tasks\` put it beside \`code\` and \`message\`; the balance paths answer \`{success: false, message}\`. A wrong method is 405, with the allowed ones in \`Allow\`.

**Languages.** Messages come in English (\`en\`), Chinese (\`zh\`), Korean (\`ko\`) and Japanese (\`ja\`): on every path by \`?language=\`, else by \`Accept-Language\`, else in English. Codes and fields are the same in every language.

**Amounts** are in balance units (USD, CNY or tokens, as the operator chose), times are Unix seconds. A task reserves its full price and is charged at most that; a failed task costs nothing.

**Other clients.** \`/openai/v1\` implements OpenAI's API, \`/mcp\` the Model Context Protocol; their own specifications describe them.`,
};

export const servers = [
  { url: "/", description: "The gateway that served this description." },
  { url: "http://127.0.0.1:8787", description: "`npm start` on this machine." },
];

export const securitySchemes = {
  apiKey: { type: "http", scheme: "bearer", description: "An API key, `sk-...`. Keep it on your servers." },
  clientToken: {
    type: "http",
    scheme: "bearer",
    description:
      "A client token, `st-...`, for code in browsers: submits a few tasks at a limited cost, reads and cancels them. Answers to it have CORS headers.",
  },
  adminToken: { type: "http", scheme: "bearer", description: "The operator's `ADMIN_TOKEN`." },
};
