/** The documentation's sources for programs: Markdown by page name. */

import index from "./docs/index.md";
import keys from "./docs/keys.md";
import chat from "./docs/chat.md";
import images from "./docs/images.md";
import videos from "./docs/videos.md";
import characters from "./docs/characters.md";
import tasks from "./docs/tasks.md";
import batches from "./docs/batches.md";
import files from "./docs/files.md";
import idempotency from "./docs/idempotency.md";
import money from "./docs/money.md";
import receipts from "./docs/receipts.md";
import marks from "./docs/marks.md";
import errors from "./docs/errors.md";
import limits from "./docs/limits.md";
import languages from "./docs/languages.md";
import callbacks from "./docs/callbacks.md";
import delivery from "./docs/delivery.md";
import browserTokens from "./docs/browser-tokens.md";
import openai from "./docs/openai.md";
import agents from "./docs/agents.md";
import clients from "./docs/clients.md";
import otherLanguages from "./docs/other-languages.md";
import langchain from "./docs/langchain.md";
import llamaindex from "./docs/llamaindex.md";
import agentsSdk from "./docs/agents-sdk.md";
import pydanticAi from "./docs/pydantic-ai.md";
import instructor from "./docs/instructor.md";
import agno from "./docs/agno.md";
import aiSdk from "./docs/ai-sdk.md";
import litellm from "./docs/litellm.md";
import codex from "./docs/codex.md";
import mcpClients from "./docs/mcp-clients.md";
import openWebui from "./docs/open-webui.md";
import n8n from "./docs/n8n.md";

/** Every page of `contents.ts`. */
export const markdown: Readonly<Record<string, string>> = {
  index,
  keys,
  chat,
  images,
  videos,
  characters,
  tasks,
  batches,
  files,
  idempotency,
  money,
  receipts,
  marks,
  errors,
  limits,
  languages,
  callbacks,
  delivery,
  "browser-tokens": browserTokens,
  openai,
  agents,
  clients,
  "other-languages": otherLanguages,
  langchain,
  llamaindex,
  "agents-sdk": agentsSdk,
  "pydantic-ai": pydanticAi,
  instructor,
  agno,
  "ai-sdk": aiSdk,
  litellm,
  codex,
  "mcp-clients": mcpClients,
  "open-webui": openWebui,
  n8n,
};
