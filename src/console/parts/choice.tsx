/** A filter with many values, as a menu of links. */

import { Icon } from "./icon.tsx";

interface ChoiceProps {
  /** Unique on the page. */
  name: string;
  /** The button's text without a choice. */
  any: string;
  options: readonly { value: string; text: string }[];
  chosen: string | undefined;
  /** The URL of the page with this choice; undefined is any. */
  to: (value: string | undefined) => string;
}

export const Choice = ({ name, any, options, chosen, to }: ChoiceProps) => {
  const current = options.find(({ value }) => value === chosen);
  return (
    <>
      <button class="chip" type="button" popovertarget={`choose-${name}`} aria-current={current ? "true" : undefined}>
        <span class="clip">{current?.text ?? any}</span>
        <Icon name="chev" />
      </button>
      <div class="menu down" id={`choose-${name}`} popover="auto">
        {[{ value: undefined, text: any }, ...options].map(({ value, text }) => (
          <a href={to(value)} aria-current={value === chosen ? "true" : undefined}>
            <span class="clip">{text}</span>
            {value === chosen && <Icon name="check" />}
          </a>
        ))}
      </div>
    </>
  );
};
