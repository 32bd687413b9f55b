/** Shows the progress of several steps: moving bars on a terminal, otherwise one line per change. */

const barWidth = 24;

/** One step on the board. */
export interface Step {
  /** Updates the step's state. */
  update(status: string, progress: number): void;
}

/** A board with a line for each step, in the order of their start. */
export class ProgressBoard {
  readonly #lines: { name: string; status: string; progress: number; since: number; seconds: number }[] = [];
  #drawn = 0;

  /** Begins a step. */
  begin(name: string): Step {
    const line = { name, status: "", progress: 0, since: Date.now(), seconds: 0 };
    this.#lines.push(line);
    const update = (status: string, progress: number) => {
      const changed = status !== line.status;
      Object.assign(line, { status, progress, seconds: (Date.now() - line.since) / 1000 });
      if (process.stdout.isTTY) this.#draw();
      else if (changed) process.stdout.write(`${name}: ${status} (${line.seconds.toFixed(1)} s)\n`);
    };
    return { update };
  }

  #draw(): void {
    const lines = this.#lines.map(({ name, status, progress, seconds }) => {
      const filled = Math.round((barWidth * progress) / 100);
      return `${name.padEnd(24)} ${"█".repeat(filled)}${"░".repeat(barWidth - filled)} ${String(progress).padStart(3)}% ${seconds.toFixed(1)} s ${status}\x1b[K\n`;
    });
    // Moves to the first line of the last drawing, to draw over it.
    process.stdout.write((this.#drawn ? `\x1b[${this.#drawn}A` : "") + lines.join(""));
    this.#drawn = lines.length;
  }
}
