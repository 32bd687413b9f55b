/** The type of an imported data file: its bytes. */

declare module "*.gz" {
  const bytes: ArrayBuffer;
  export default bytes;
}

declare module "*.mp4" {
  const bytes: ArrayBuffer;
  export default bytes;
}
