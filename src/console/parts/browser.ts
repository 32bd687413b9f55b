/** The browser of a session, in words. */

/** Browsers whose user agent also contains another browser's name come first. */
const browsers = { Edg: "Edge", OPR: "Opera", Firefox: "Firefox", Chrome: "Chrome", Safari: "Safari" };
const systems = {
  Android: "Android",
  iPhone: "iPhone",
  iPad: "iPad",
  Windows: "Windows",
  "Mac OS": "macOS",
  CrOS: "ChromeOS",
  Linux: "Linux",
};

/** The browser and system of a user agent, or the beginning of its text. */
export function parseBrowser(userAgent: string | null): string {
  if (!userAgent) return "-";
  const find = (names: object) => Object.entries(names).find(([mark]) => userAgent.includes(mark))?.[1] as string | undefined;
  return [find(browsers), find(systems)].filter(Boolean).join(", ") || userAgent.slice(0, 60);
}
