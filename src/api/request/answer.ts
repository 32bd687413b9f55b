/** Builds every answer of the gateway, with all its headers at once: setting them one by one is slower. */

import type { AppContext } from "./context.ts";

type Headers = Record<string, string>;

const exposedHeaders =
  "content-language, etag, idempotent-replayed, location, retry-after, sunset, x-dropped-params, x-ratelimit-limit-requests, x-ratelimit-reset-requests, x-request-id";

/** The headers that every answer has; `vary` is the answer's own. */
function commonHeaders(c: AppContext, vary: string | null | undefined): Headers {
  const limit = c.get("limit");
  const origin = c.get("allowOrigin");
  return {
    "x-request-id": c.get("requestId"),
    "x-content-type-options": "nosniff",
    ...(limit !== undefined && { "x-ratelimit-limit-requests": limit }),
    ...(origin !== undefined && { "access-control-allow-origin": origin, "access-control-expose-headers": exposedHeaders }),
    ...(origin !== undefined && origin !== "*" && { vary: vary ? `${vary}, Origin` : "Origin" }),
  };
}

/** An answer with these headers. */
export function respond(c: AppContext, body: BodyInit | null, status = 200, headers: Headers = {}): Response {
  const [sunset, dropped] = status < 400 ? [c.get("sunset"), c.get("dropped")] : [];
  return new Response(body, {
    status,
    headers: {
      ...headers,
      ...commonHeaders(c, headers["vary"]),
      ...(sunset && { sunset }),
      ...(dropped && { "x-dropped-params": dropped }),
    },
  });
}

/** The answer of another Worker with the headers that every answer has. It is copied, because its own headers cannot be changed. */
export function passOn(c: AppContext, response: Response): Response {
  const copy = new Response(response.body, response);
  for (const [name, value] of Object.entries(commonHeaders(c, copy.headers.get("vary")))) copy.headers.set(name, value);
  return copy;
}

const json = { "content-type": "application/json" };

/** A JSON answer that is the same in every language. */
export const answerPlain = (c: AppContext, value: object, status = 200, headers: Headers = {}): Response =>
  respond(c, JSON.stringify(value), status, { ...json, ...headers });

/** A JSON answer in the caller's language. */
export const answer = (c: AppContext, value: object, status = 200, headers: Headers = {}): Response =>
  answerPlain(c, value, status, { "content-language": c.get("language"), vary: "Accept-Language", ...headers });

/** Answers a preflight, with which a browser asks, without credentials, whether a page of another origin may make a request. */
export function answerPreflight(c: AppContext): Response {
  c.set("allowOrigin", "*");
  return respond(c, null, 204, {
    "access-control-allow-methods": "GET, HEAD, POST",
    // OpenAI's clients send further ones; "*" does not cover `Authorization`.
    "access-control-allow-headers": "Authorization, Content-Type, Idempotency-Key, If-None-Match, Last-Event-ID, X-Client-Request-Id, *",
    "access-control-max-age": "86400",
  });
}

/** A JSON text in the caller's language that callers may keep: 304 without a body if the caller has the one with this ETag. */
export function answerTagged(c: AppContext, text: string, etag: string, more: Headers = {}): Response {
  const headers = { etag, "cache-control": "private, no-cache", vary: "Accept-Language", ...more };
  if (isKnown(c, etag)) return respond(c, null, 304, headers);
  return respond(c, text, 200, { ...headers, ...json, "content-language": c.get("language") });
}

/** True if the request's `If-None-Match` names this ETag. Weak comparison (RFC 9110, 8.8.3.2): the `W/` prefix is ignored. */
export const isKnown = (c: AppContext, etag: string): boolean =>
  c.req
    .header("if-none-match")
    ?.split(",")
    .some((tag) => tag.trim() === "*" || withoutPrefix(tag.trim()) === withoutPrefix(etag)) ?? false;

const withoutPrefix = (tag: string) => tag.replace(/^W\//, "");
