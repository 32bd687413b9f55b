/** The search field of a list, which keeps the list's other filters. */

import { Icon } from "./icon.tsx";

interface SearchFormProps {
  /** The list's path. */
  path: string;
  /** The query parameters of the list, and the name of the one that is searched for. */
  filters: Readonly<Record<string, string | undefined>>;
  name: string;
  label: string;
  maxlength?: number;
}

export const SearchForm = ({ path, filters, name, label, maxlength }: SearchFormProps) => {
  const { [name]: value, ...others } = filters;
  return (
    <form class="icon-in search" role="search" action={path}>
      <Icon name="search" />
      <input class="in" type="search" name={name} value={value} maxlength={maxlength} placeholder={label} aria-label={label} data-slash />
      {value === undefined && <kbd>/</kbd>}
      {Object.entries(others).map(([other, kept]) => kept !== undefined && <input type="hidden" name={other} value={kept} />)}
    </form>
  );
};
