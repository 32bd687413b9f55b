/** Google as its APIs behave: the Gemini API (pictures, interactions, files), and Vertex AI with its access tokens. */

import { Hono } from "hono";
import { geminiImages } from "./google-images.ts";
import { interactions } from "./google-interactions.ts";
import { tokens, vertex } from "./google-vertex.ts";

export const google = new Hono();
google.route("/", tokens);
google.route("/", vertex);
google.route("/", interactions);
google.route("/", geminiImages);
