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
};
