/** The description's introduction to the API. */

export const info = {
  title: "Generation gateway",
  summary: "Text, images, video and characters by one API.",
  description: `Submit a generation and get a task at once; follow the task until its files are there. Text is answered directly.

**Authentication.** \`Authorization: Bearer sk-...\`. Browsers use tokens (\`st-...\`) that an API key makes.

**Bodies** are JSON. Unknown fields are ignored, known ones are strict, \`null\` counts as absent. Every violated rule is reported at once.

**Errors** have one \`error\` object with \`message\`, \`type\`, \`code\` and \`param\`. Paths below \`/v1/tasks\` put it beside \`code\` and \`message\`; the balance paths answer \`{success: false, message}\`. A path that exists answers 405 with \`Allow\` to other methods.

**Languages.** Messages come in English (\`en\`), Chinese (\`zh\`), Korean (\`ko\`) and Japanese (\`ja\`): by \`?language=\`, else by \`Accept-Language\`, else in English. Codes and fields never change.

**Amounts** are in balance units (USD, CNY or tokens, as the operator chose), times are Unix seconds. A task reserves its full price and is charged at most that; what failed costs nothing.

**Other clients.** OpenAI's own API is spoken below \`/openai/v1\`, and the Model Context Protocol at \`/mcp\`; their own specifications describe them.`,
};

export const servers = [
  { url: "/", description: "The gateway that served this description." },
  { url: "http://127.0.0.1:8787", description: "`npm start` on this machine." },
];

export const securitySchemes = {
  apiKey: { type: "http", scheme: "bearer", description: "An API key, `sk-...`. Keep it on your servers." },
  browserToken: {
    type: "http",
    scheme: "bearer",
    description:
      "A token for browsers, `st-...`: a few tasks at a limited cost, read, followed and cancelled by whoever has it. Answers to it have CORS headers.",
  },
  adminToken: { type: "http", scheme: "bearer", description: "The operator's `ADMIN_TOKEN`." },
};
