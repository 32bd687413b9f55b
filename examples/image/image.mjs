// Makes an image, waits until it exists and saves it: BASE_URL=... API_KEY=... node image.mjs
import { writeFile } from "node:fs/promises";

const headers = { authorization: `Bearer ${process.env.API_KEY}`, "content-type": "application/json" };
const read = async (response) => (response.ok ? response : Promise.reject(new Error(await response.text())));
const ask = async (path, request) => (await read(await fetch(process.env.BASE_URL + path, { headers, ...request }))).json();

let task = await ask("/v1/images/generations", { method: "POST", body: '{"model": "imgA-4", "prompt": "A lighthouse in the fog"}' });
while (["queued", "in_progress"].includes(task.status)) task = (await ask(`/v1/tasks/${task.id}?wait=60`)).data;
if (task.error) throw new Error(task.error.message);
const file = await read(await fetch(task.result.images[0].url[0]));
await writeFile("node.png", file.body);
