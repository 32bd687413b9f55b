/** The language and the balance unit of a page, for its components. */

import { createContext, useContext } from "hono/jsx";
import { sentenceEnds } from "../../messages/language.ts";
import { type Language, type Translate, translator } from "../messages.ts";

export interface Around {
  language: Language;
  t: Translate;
  /** The unit of balances: a currency code, or any word. */
  unit: string;
}

export const AroundContext = createContext<Around>({ language: "en", t: translator("en"), unit: "USD" });

export const useAround = (): Around => useContext(AroundContext);

/** The separator of two sentences. */
export const useGap = () => sentenceEnds[useAround().language].slice(1);
