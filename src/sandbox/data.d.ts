/** What an import of a data file gives: its bytes. */

declare module "*.gz" {
  const bytes: ArrayBuffer;
  export default bytes;
}

declare module "*.mp4" {
  const bytes: ArrayBuffer;
  export default bytes;
}
