/** Aspect ratios as drawings. */

const boxWidth = 28;
const boxHeight = 20;

/** A rectangle of this ratio (`16:9`), 28 by 20 pixels at most; without a ratio a dashed one. */
export const Shape = ({ ratio }: { ratio: string }) => {
  const [across = 4, down = 3] = ratio === "" ? [] : ratio.split(":").map(Number);
  const scale = Math.min((boxWidth - 2) / across, (boxHeight - 2) / down);
  const [width, height] = [Math.round(across * scale), Math.round(down * scale)];
  return (
    <svg viewBox={`0 0 ${boxWidth} ${boxHeight}`} aria-hidden="true">
      <rect
        x={(boxWidth - width) / 2}
        y={(boxHeight - height) / 2}
        width={width}
        height={height}
        rx={2}
        stroke-dasharray={ratio === "" ? "3 2" : undefined}
      />
    </svg>
  );
};

const sizes = new Set(["1:1", "16:9", "9:16", "4:3", "3:4", "3:2", "2:3", "21:9"]);

/** The class of an image's place with this ratio, so that nothing moves when the image arrives. */
export const ratioClass = (ratio: unknown) => (typeof ratio === "string" && sizes.has(ratio) ? `r-${ratio.replace(":", "-")}` : "r-16-9");
