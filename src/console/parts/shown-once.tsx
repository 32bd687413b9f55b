import type { Child } from "hono/jsx";
import { Copy } from "./copy.tsx";
import { Icon } from "./icon.tsx";

/** A secret that no other page shows: a text about it, and the secret to copy. */
export const ShownOnce = ({ id, secret, children }: { id: string; secret: string; children: Child }) => (
  <div class="note good">
    <Icon name="ok" />
    <div class="stack tight">
      <p role="status">{children}</p>
      <div class="secret">
        <code id={id}>{secret}</code>
        <Copy of={id} />
      </div>
    </div>
  </div>
);
