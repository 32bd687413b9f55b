// Draws the table of charges by day and model as stacked bars. uPlot is a script of its own, loaded before.

const table = document.getElementById("by-day");
const figure = document.getElementById("chart");

/** Colours of at least 3:1 against the page, light and dark, and patterns with them: twelve models are told apart, also without colours. */
const palettes = {
  light: { page: "#fff", text: "#373c44", grid: "#d5d9e0", fills: ["#0b63c4", "#b35900", "#1a7f37", "#8250df"] },
  dark: { page: "#13171f", text: "#c2c7d0", grid: "#2d3440", fills: ["#58a6ff", "#f0883e", "#3fb950", "#bc8cff"] },
};
const patterns = [() => [], () => [[0, 8, 8, 0]], () => [[0, 4, 8, 4]]];
const dark = matchMedia("(prefers-color-scheme: dark)");

/** A square of 8 pixels: the colour with lines of the page's colour. */
function fillOf(index, { fills, page }) {
  const tile = new OffscreenCanvas(8, 8);
  const pen = tile.getContext("2d");
  pen.fillStyle = fills[index % fills.length];
  pen.fillRect(0, 0, 8, 8);
  pen.strokeStyle = page;
  pen.lineWidth = 2;
  for (const [x, y, toX, toY] of patterns[index % patterns.length]()) {
    // Drawn thrice, so that a slanted line goes on where the next square begins.
    for (const shift of x === toX || y === toY ? [0] : [-8, 0, 8]) {
      pen.beginPath();
      pen.moveTo(x + shift, y);
      pen.lineTo(toX + shift, toY);
      pen.stroke();
    }
  }
  return pen.createPattern(tile, "repeat");
}

/** The table's numbers: seconds of each day of the period, and for each model its balance units on each. */
function read() {
  const names = [...table.tHead.rows[0].cells].slice(1, -1).map((cell) => cell.textContent);
  const first = Date.parse(table.dataset.from) / 1000;
  const days = Array.from({ length: Number(table.dataset.days) }, (_, day) => first + 86_400 * day);
  const amounts = names.map(() => days.map(() => 0));
  for (const row of table.tBodies[0].rows) {
    const day = (Date.parse(row.querySelector("time").dateTime) / 1000 - first) / 86_400;
    names.forEach((_, at) => (amounts[at][day] = Number(row.cells[at + 1].querySelector("data")?.value ?? 0) / 1e6));
  }
  return { names, days, amounts };
}

const language = document.documentElement.lang;
const dateIn = (options) => {
  const format = new Intl.DateTimeFormat(language, { ...options, timeZone: "UTC" });
  return (seconds) => format.format(new Date(1000 * seconds));
};
const shortDate = dateIn({ month: "short", day: "numeric" });
const longDate = dateIn({ dateStyle: "medium" });
const amount = new Intl.NumberFormat(language, { maximumFractionDigits: 6 });

function draw() {
  const { names, days, amounts } = read();
  const palette = palettes[dark.matches ? "dark" : "light"];
  // Each bar begins at 0 and is drawn from the top of its stack, the highest first: the lower ones cover what is theirs.
  const height = days.map(() => 0);
  const tops = amounts.map((own) => own.map((value, day) => (value > 0 ? (height[day] += value) : null)));
  const order = names.map((_, at) => names.length - 1 - at);
  const total = (values) => values.reduce((sum, value) => sum + value, 0);
  const axis = { stroke: palette.text, grid: { stroke: palette.grid, width: 1 }, ticks: { stroke: palette.grid, width: 1 } };
  const size = () => ({ width: figure.clientWidth, height: 260 });
  figure.hidden = false;
  const plot = new globalThis.uPlot(
    {
      ...size(),
      tzDate: (seconds) => globalThis.uPlot.tzDate(new Date(1000 * seconds), "Etc/UTC"),
      scales: { x: { range: () => [days[0] - 43_200, days.at(-1) + 43_200] }, y: { range: (_, __, most) => [0, most * 1.05 || 1] } },
      cursor: { y: false, drag: { x: false, y: false }, points: { show: false } },
      axes: [
        {
          ...axis,
          grid: { show: false },
          space: 64,
          incrs: [1, 2, 7, 14, 30].map((count) => 86_400 * count),
          values: (_, marks) => marks.map(shortDate),
        },
        { ...axis, size: 64, values: (_, marks) => marks.map((mark) => amount.format(mark)) },
      ],
      series: [
        {
          label: figure.dataset.day,
          value: (_, day) => (day === null ? `${longDate(days[0])} – ${longDate(days.at(-1))}` : longDate(day)),
        },
        ...order.map((at) => ({
          label: names[at],
          fill: fillOf(at, palette),
          stroke: palette.page,
          width: figure.clientWidth / days.length > 8 ? 1 : 0, // what parts the models of a bar, where there is room
          paths: globalThis.uPlot.paths.bars({ size: [0.8, 48] }),
          points: { show: false },
          value: (_, __, ___, day) => amount.format(day === null ? Math.round(total(amounts[at]) * 1e6) / 1e6 : amounts[at][day]),
        })),
      ],
    },
    [days, ...order.map((at) => tops[at])],
    figure,
  );
  // The legend's marks are drawn with what the bars are filled with.
  plot.root.querySelectorAll(".u-series").forEach((row, index) => {
    const mark = row.querySelector(".u-marker");
    if (!mark || index === 0) return;
    const swatch = document.createElement("canvas");
    swatch.width = swatch.height = 16;
    const pen = swatch.getContext("2d");
    pen.fillStyle = fillOf(order[index - 1], palette);
    pen.fillRect(0, 0, 16, 16);
    mark.replaceWith(swatch);
  });
  const watch = new ResizeObserver(() => plot.setSize(size()));
  watch.observe(figure);
  return () => {
    watch.disconnect();
    plot.destroy();
  };
}

if (table && figure) {
  let undraw = draw();
  dark.addEventListener("change", () => {
    undraw();
    undraw = draw();
  });
}
