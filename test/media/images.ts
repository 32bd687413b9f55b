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

export const png = Uint8Array.fromBase64(base64.png);
export const jpeg = Uint8Array.fromBase64(base64.jpeg);
export const webps = [base64.webpLossless, base64.webpLossy, base64.webpExtended].map((text) => Uint8Array.fromBase64(text));
