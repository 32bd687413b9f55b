/** Text files are imported as modules, like wrangler bundles them. */

declare module "*.txt" {
  const text: string;
  export default text;
}
