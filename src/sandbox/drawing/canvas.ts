/**
 * A canvas of tones: one byte per pixel, from 0, the darkest colour of a palette, to 255, its lightest.
 * It needs a quarter of the memory of RGBA, and a mix of two tones is always a colour of the palette, so edges stay smooth.
 */

export interface Canvas {
  width: number;
  height: number;
  tones: Uint8Array<ArrayBuffer>;
}

/** Pixels from the upper left corner; edges may be fractions. */
export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** Distance in pixels from the border of a shape: negative inside. At most twice as large as the way to the border along a row. */
export type Distance = (x: number, y: number) => number;

export function createCanvas(width: number, height: number): Canvas {
  return { width, height, tones: new Uint8Array(width * height) };
}

/** The tone of a number from 0 to 1; other numbers are clamped. */
export function toTone(value: number): number {
  return value <= 0 ? 0 : value >= 1 ? 255 : (value * 255 + 0.5) | 0;
}

/**
 * Paints a shape with smooth edges. `paint` returns the shape's tone at a pixel from the tone below (0 to 255).
 * Only pixels of `bounds` change.
 */
export function fillShape(canvas: Canvas, bounds: Box, distance: Distance, paint: (below: number, x: number, y: number) => number): void {
  const { tones } = canvas;
  const left = Math.max(0, Math.floor(bounds.x - 1));
  const right = Math.min(canvas.width, Math.ceil(bounds.x + bounds.width + 1));
  const top = Math.max(0, Math.floor(bounds.y - 1));
  const bottom = Math.min(canvas.height, Math.ceil(bounds.y + bounds.height + 1));
  for (let y = top; y < bottom; y++) {
    const row = y * canvas.width;
    for (let x = left; x < right;) {
      const cover = 0.5 - distance(x + 0.5, y + 0.5);
      // The pixels up to there are like this one: all outside, or all inside.
      const until = Math.min(right, x + Math.max(1, (Math.abs(cover - 0.5) - 0.5) >> 1));
      if (cover > 0) {
        for (let at = x; at < until; at++) {
          const below = tones[row + at] ?? 0;
          const above = paint(below, at, y);
          tones[row + at] = cover >= 1 ? above : below + (above - below) * cover;
        }
      }
      x = until;
    }
  }
}

/** As `Math.hypot`, whose care for overflows takes most of the time of a drawing. */
export function length(x: number, y: number): number {
  return Math.sqrt(x * x + y * y);
}

export function circle(centreX: number, centreY: number, radius: number): Distance {
  return (x, y) => length(x - centreX, y - centreY) - radius;
}

/** Exact on the axes and close enough elsewhere for a smooth edge. */
export function ellipse(centreX: number, centreY: number, radiusX: number, radiusY: number): Distance {
  return (x, y) => {
    const u = (x - centreX) / radiusX;
    const v = (y - centreY) / radiusY;
    const reach = length(u, v);
    const slope = length(u / radiusX, v / radiusY);
    return slope === 0 ? -Math.min(radiusX, radiusY) : (reach * (reach - 1)) / slope;
  };
}

export function roundedBox(box: Box, radius: number): Distance {
  const halfWidth = box.width / 2;
  const halfHeight = box.height / 2;
  return (x, y) => {
    const u = Math.abs(x - box.x - halfWidth) - halfWidth + radius;
    const v = Math.abs(y - box.y - halfHeight) - halfHeight + radius;
    return length(Math.max(u, 0), Math.max(v, 0)) + Math.min(Math.max(u, v), 0) - radius;
  };
}

/** The smallest box around a circle or an ellipse. */
export function around(centreX: number, centreY: number, radiusX: number, radiusY = radiusX): Box {
  return { x: centreX - radiusX, y: centreY - radiusY, width: radiusX * 2, height: radiusY * 2 };
}
