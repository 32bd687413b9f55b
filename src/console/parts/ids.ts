/** Ids of tasks: shortened for display, and in paths of the API. */

/** An id shortened in its middle; copying and links use the whole id. */
export const cutId = (id: string) => (id.length > 18 ? `${id.slice(0, 10)}…${id.slice(-4)}` : id);

/** The API's path of a task. An id of a form may be empty or `..`, which would make it the path of something else. */
export const taskPath = (id: string) => `/v1/tasks/${/^[\w-]+$/.test(id) ? id : "unknown"}`;
