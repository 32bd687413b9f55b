/** What every part of a page needs to write words, numbers and amounts: set once around the page. */

import { createContext, useContext } from "hono/jsx";
import { type Language, type Say, speakerOf } from "../messages.ts";

interface Around {
  language: Language;
  say: Say;
  /** The unit of balances: a currency's code, or any word. */
  unit: string;
}

export const AroundContext = createContext<Around>({ language: "en", say: speakerOf("en"), unit: "USD" });

export const useAround = (): Around => useContext(AroundContext);
