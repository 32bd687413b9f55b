/** A file's text, as imported by Vite. */

declare module "*?raw" {
  const text: string;
  export default text;
}
