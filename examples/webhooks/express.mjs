// A receiver of webhooks with Express: npm install express standardwebhooks, then WEBHOOK_SECRET=whsec_... node express.mjs
import express from "express";
import { Webhook } from "standardwebhooks";

const webhook = new Webhook(process.env.WEBHOOK_SECRET);
const app = express();

// The signature is of the raw body, so this path reads it raw. Put express.json() after it if the application uses that.
app.post("/hooks", express.raw({ type: "application/json", limit: "1mb" }), (request, response) => {
  let event;
  try {
    event = webhook.verify(request.body, request.headers);
  } catch {
    return response.sendStatus(401);
  }
  // The gateway waits ten seconds for the answer, so do the work after it.
  response.sendStatus(204);
  handle(event, request.headers["webhook-id"]);
});

/** A webhook can arrive more than once, with the same id each time. If that matters, store the id together with your own change. */
function handle({ type, data }, id) {
  console.log(id, type, data.id, data.status, JSON.stringify(data.result ?? data.error));
}

const server = app.listen(Number(process.env.PORT ?? 9000), () => console.log(`listening on port ${server.address().port}`));
