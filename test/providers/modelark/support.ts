/** Routes to ModelArk, and images for it. */

import { type Routes, routesTo } from "../support.ts";

export const images = "/v1/images/generations";
export const videos = "/v1/videos/generations";

/** Every model that ModelArk serves, with an upstream model id that is not retired. */
export const routes: Routes = Object.fromEntries(
  Object.entries({
    "imgA-4": "seedream-4-5-251128",
    "vidA-2": "dreamina-seedance-2-0-260128",
    "vidA-2-pro": "dreamina-seedance-2-5-260628",
    "vidC-1-0-pro-fast": "dreamina-seedance-2-0-fast-260128",
    "vidC-1-0-pro-quality": "dreamina-seedance-2-0-260128",
  }).map(([model, id]) => [model, [{ provider: "modelark", model: id }]]),
);

/** A route of one model with another upstream model id. */
export const routeTo = (model: string, ...ids: string[]) => routesTo("modelark", model, ...ids);

const png = "iVBORw0KGgoAAAANSUhEUgAAAAYAAAAKCAAAAACyZXDvAAAACXBIWXMAAAABAAAAAQBPJcTWAAAADklEQVR4nGMIBAMGyigAmNgS/QjLSi4AAAAASUVORK5CYII=";
export const inlineImage = `data:image/png;base64,${png}`;
export const imageUrl = "https://images.example/a.png";
