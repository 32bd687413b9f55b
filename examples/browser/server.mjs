/**
 * A site whose visitors make images in their browser: serves the page and hands out tokens.
 *
 *   BASE_URL=https://gateway.example API_KEY=sk-... node server.mjs
 *
 * The API key stays here. A token lets a visitor make two images for at most 0.20 in all within ten minutes, from this site's pages alone.
 * A real site hands out tokens to those who have signed in, and counts them.
 */

import { readFileSync } from "node:fs";
import { createServer } from "node:http";

const { BASE_URL = "http://127.0.0.1:8787", API_KEY, PORT = "8080" } = process.env;
if (!API_KEY) throw new Error("API_KEY is not set");
const page = readFileSync(new URL("index.html", import.meta.url));

const server = createServer((request, response) => {
  if (request.method === "GET" && request.url === "/") response.setHeader("content-type", "text/html; charset=utf-8").end(page);
  else if (request.method === "POST" && request.url === "/token") void handOutToken(response);
  else response.writeHead(404).end();
});

async function handOutToken(response) {
  try {
    const answer = await fetch(`${BASE_URL}/v1/tokens`, {
      method: "POST",
      headers: { authorization: `Bearer ${API_KEY}`, "content-type": "application/json" },
      body: JSON.stringify({ tasks: 2, max_cost: 0.2, kinds: ["image"], models: ["imgA-4"], origin, expires_in: 600 }),
    });
    if (!answer.ok) throw new Error(`no token: ${answer.status} ${await answer.text()}`);
    const { token, expires_at } = await answer.json();
    response.setHeader("content-type", "application/json").end(JSON.stringify({ base_url: BASE_URL, token, expires_at }));
  } catch (error) {
    console.error(error);
    response.writeHead(502).end();
  }
}

let origin;
server.listen(Number(PORT), "127.0.0.1", () => {
  origin = `http://localhost:${server.address().port}`;
  console.log(`The page is at ${origin}`);
});
