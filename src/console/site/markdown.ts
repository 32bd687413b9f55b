/** The documentation's sources: Markdown by page name. */

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
import webhooks from "./docs/webhooks.md";
import delivery from "./docs/delivery.md";
import clientTokens from "./docs/client-tokens.md";
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
import landing from "./docs/landing.md";
import deploy from "../../../docs/deploy.md";
import configuration from "../../../docs/configuration.md";
import providers from "../../../docs/providers.md";
import models from "../../../docs/models.md";
import consolePages from "../../../docs/console.md";
import operations from "../../../docs/operations.md";
import changelog from "../../../CHANGELOG.md";

/** Every page of `contents.ts`, and the request of the landing page. */
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
  webhooks,
  delivery,
  "client-tokens": clientTokens,
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
  landing,
  "operate/deploy": deploy,
  "operate/configuration": configuration,
  "operate/providers": providers,
  "operate/models": models,
  "operate/console": consolePages,
  "operate/operations": operations,
  changelog,
};
