/** The language and the balance unit of a page, for its components. */

import { createContext, useContext } from "hono/jsx";
import { type Language, type Say, speakerOf } from "../messages.ts";

interface Around {
  language: Language;
  say: Say;
  /** The unit of balances: a currency code, or any word. */
  unit: string;
}

export const AroundContext = createContext<Around>({ language: "en", say: speakerOf("en"), unit: "USD" });

export const useAround = (): Around => useContext(AroundContext);
