/** The smallest real images of each format for tests, each of 6 by 10 pixels, as ffmpeg wrote them. */

export const base64 = {
  png: "iVBORw0KGgoAAAANSUhEUgAAAAYAAAAKCAAAAACyZXDvAAAACXBIWXMAAAABAAAAAQBPJcTWAAAADklEQVR4nGMIBAMGyigAmNgS/QjLSi4AAAAASUVORK5CYII=",
  jpeg:
    "/9j/4AAQSkZJRgABAgAAAQABAAD/2wBDAAg+Pkk+SVVVVVVVVWRdZGhoaGRkZGRoaGhwcHCDg4NwcHBoaHBwfHyDg4+Tj4eHg4eTk5ubm7q6srLZ2eD/////xABLAAEBAAAAAAAA" +
    "AAAAAAAAAAAABgEBAAAAAAAAAAAAAAAAAAAAABABAAAAAAAAAAAAAAAAAAAAABEBAAAAAAAAAAAAAAAAAAAAAP/AABEIAAoABgMBEgACEgADEgD/2gAMAwEAAhEDEQA/AJAAH//Z",
  webpLossless: "UklGRhwAAABXRUJQVlA4TA8AAAAvBUACAAcQ/Y/+ByKi/wEA",
  webpLossy: "UklGRjwAAABXRUJQVlA4IDAAAADQAQCdASoGAAoAAgA0JaACdLoB+AADsAD+8Oj3/yC5YXXI1/8gP+QH/ID/+PIAAAA=",
  webpExtended:
    "UklGRmAAAABXRUJQVlA4WAoAAAAQAAAABQAACQAAQUxQSAoAAAABB9C/iAhERP8DVlA4IDAAAADQAQCdASoGAAoAAgA0JaACdLoB+AADsAD+8Oj3/yC5YXXI1/8gP+QH/ID/+PIAAAA=",
};

/** A PNG of one pixel, in Base64. */
export const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** Also in Node 24, which has no `fromBase64`. */
const decode = (text: string): Uint8Array<ArrayBuffer> => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));

export const png = decode(base64.png);
export const jpeg = decode(base64.jpeg);
export const webps = [base64.webpLossless, base64.webpLossy, base64.webpExtended].map(decode);
