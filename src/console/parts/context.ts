/** The language and the balance unit of a page, for its components. */

import { createContext, useContext } from "hono/jsx";
import { type Language, type Translate, translator } from "../messages.ts";

export interface Around {
  language: Language;
  t: Translate;
  /** The unit of balances: a currency code, or any word. */
  unit: string;
}

export const AroundContext = createContext<Around>({ language: "en", t: translator("en"), unit: "USD" });

export const useAround = (): Around => useContext(AroundContext);

/** The separator of two sentences: Chinese and Japanese have no space after a full stop. */
export const useGap = () => (["zh", "ja"].includes(useAround().language) ? "" : " ");
