/** Light, dark, or as the system has it: kept in a cookie. */

export const themes = ["system", "light", "dark"] as const;
export type Theme = (typeof themes)[number];

export const themeCookie = "gateway_theme";

/** The theme that a cookie or a query names; any other text is the system's. */
export const themeOf = (name: string | undefined): Theme => themes.find((theme) => theme === name) ?? "system";
