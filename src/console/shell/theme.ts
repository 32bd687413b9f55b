/** The theme: light, dark, or the system's, stored in a cookie. */

export const themes = ["system", "light", "dark"] as const;
export type Theme = (typeof themes)[number];

export const themeCookie = "gateway_theme";

/** The theme of a cookie or query; any other text means the system's. */
export const parseTheme = (name: string | undefined): Theme => themes.find((theme) => theme === name) ?? "system";
