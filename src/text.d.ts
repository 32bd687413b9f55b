/** Text files are modules, as wrangler makes them. */

declare module "*.txt" {
  const text: string;
  export default text;
}
