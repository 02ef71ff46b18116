// Shows how far long work is, on standard error: a bar on a terminal, else a line now and then.

import type { World } from "../../kernel/world.js";
import type { Terminal } from "./terminal.js";

export interface Progress {
  /** `total`: when it is known. */
  at(done: number, total?: number): void;
  /** Removes the bar. */
  end(): void;
}

/** Nothing is shown of work that ends within this time, and a line at most this often. */
const PROGRESS_MS = 1_000;
const REDRAWS_PER_SECOND = 10;

export const NO_PROGRESS: Progress = { at() {}, end() {} };

/** `what` follows the number: `40 runs deleted`. */
export function progressOf(what: string, terminal: Terminal, world: World): Progress {
  let shownAt = world.monotonicNow();
  const isLate = () => world.monotonicNow() - shownAt >= PROGRESS_MS;
  if (!terminal.isTTY || !terminal.errors) {
    return {
      at(done, total) {
        if (!isLate()) return;
        shownAt = world.monotonicNow();
        terminal.writeError(`${done}${total === undefined ? "" : ` of ${total}`} ${what} so far\n`);
      },
      end() {},
    };
  }
  const bar = barOn(terminal.errors, what);
  return {
    at: (done, total) => isLate() && bar.at(done, total),
    end: () => bar.end(),
  };
}

/** Loaded when the first second has passed. */
function barOn(stream: NodeJS.WriteStream, what: string): Progress {
  let latest: readonly [number, number | undefined] = [0, undefined];
  let bar: { update(at: number): void; setTotal(total: number): void; stop(): void } | null = null;
  let isEnded = false;
  const draw = () => {
    const [done, total = 0] = latest;
    bar?.setTotal(Math.max(total, done));
    bar?.update(done);
  };
  const open = async () => {
    const { SingleBar } = await import("../library/progress.js");
    if (isEnded) return;
    const isCounted = latest[1] !== undefined;
    const format = isCounted ? `{bar} {percentage} %  {value} of {total} ${what}` : `{value} ${what}`;
    const made = new SingleBar({
      stream,
      format,
      fps: REDRAWS_PER_SECOND,
      barsize: 24,
      barCompleteChar: "━",
      barIncompleteChar: "─",
      clearOnComplete: true,
      linewrap: false,
      gracefulExit: false,
    });
    made.start(latest[1] ?? 0, latest[0]);
    bar = made;
    draw();
  };
  let isOpening = false;
  return {
    at(done, total) {
      latest = [done, total];
      if (!isOpening) void open();
      isOpening = true;
      draw();
    },
    end() {
      isEnded = true;
      bar?.stop();
    },
  };
}
