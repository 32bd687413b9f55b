/** Routes to xAI, and images for it. */

import { routesTo } from "../support.ts";

export const images = "/v1/images/generations";
export const videos = "/v1/videos/generations";
/** A route of one model to these upstream model ids. */
export const routeTo = (model: string, ...ids: string[]) => routesTo("xai", model, ...ids);

const png = "iVBORw0KGgoAAAANSUhEUgAAAAYAAAAKCAAAAACyZXDvAAAACXBIWXMAAAABAAAAAQBPJcTWAAAADklEQVR4nGMIBAMGyigAmNgS/QjLSi4AAAAASUVORK5CYII=";
export const inlineImage = `data:image/png;base64,${png}`;
export const imageUrl = "https://images.example/a.png";
