/** Google's APIs emulated: the Gemini API (images, interactions, files), and Vertex AI with its access tokens. */

import { Hono } from "hono";
import { geminiImages } from "./images.ts";
import { interactions } from "./interactions.ts";
import { tokens, vertex } from "./vertex.ts";

export const google = new Hono();
google.route("/", tokens);
google.route("/", vertex);
google.route("/", interactions);
google.route("/", geminiImages);
