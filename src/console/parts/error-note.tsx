/** An error with what to do and a link into the documentation, and the button that copies it. */

import type { Child } from "hono/jsx";
import { useAround } from "./context.ts";
import { Copy } from "./copy.tsx";
import { Icon } from "./icon.tsx";

/** What to do about an error: by its code, else by its status. */
const fixes = {
  insufficient_quota: "fix_balance",
  budget_exceeded: "fix_budget",
  key_scope: "fix_scope",
  token_exhausted: "fix_scope",
  content_policy_violation: "fix_content",
  invalid_input: "fix_input",
  provider_error: "fix_again",
  deadline_exceeded: "fix_again",
  idempotency_conflict: "fix_idempotency",
  model_not_found: "fix_model",
  model_not_available: "fix_model",
  cost_limit_exceeded: "fix_cost",
} as const;

function fixOf(code: string, status: number | undefined) {
  if (code in fixes) return fixes[code as keyof typeof fixes];
  if (status === undefined) return "fix_again";
  if (status === 401 || status === 403) return "fix_key";
  if (status === 404 || status === 410) return "fix_missing";
  if (status === 429) return "fix_wait";
  return status >= 500 ? "fix_again" : "fix_request";
}

interface ErrorNoteProps {
  code: string;
  /** The HTTP status of the answer; undefined of a task that failed later. */
  status?: number;
  message: string;
  /** What became of the money. */
  children?: Child;
}

/** Copies an error as one line, for whoever is asked about it. `request` is the id of the request or of the task. */
export const CopyError = ({ code, status, message, request, class: name }: ErrorNoteProps & { request: string; class?: string }) => {
  const { t } = useAround();
  return (
    <>
      <span id="error-text" hidden>
        {`${status === undefined ? "" : `${status} `}${code}: ${message} (${request})`}
      </span>
      <Copy of="error-text" text={t("copy_error")} class={name} />
    </>
  );
};

/** A task that its caller cancelled has no fault to mend. */
export const ErrorNote = ({ code, status, message, children }: ErrorNoteProps) => {
  const { t } = useAround();
  const isCancelled = code === "cancelled";
  return (
    <div class={isCancelled ? "note" : "note bad"}>
      <Icon name={isCancelled ? "ban" : "bad"} />
      <div>
        <b>{message}</b>
        {!isCancelled && (
          <p>
            {t(fixOf(code, status))} <a href="/docs/errors#every-code">{t("fix_read")}</a>{" "}
            {code === "insufficient_quota" && <a href="/console/credit">{t("low_more")}</a>}
          </p>
        )}
        <p class="meta">
          <code>{code}</code>
          {children !== undefined && <> · {children}</>}
        </p>
      </div>
    </div>
  );
};
