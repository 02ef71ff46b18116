// One line per run of a development cluster: its steps, its holder, and every change of hands with its measured time.

import type { ClusterEvent } from "../../dev/cluster.js";
import type { NodeReport } from "../../dev/node-report.js";
import type { Colour, Paint } from "../text/paint.js";

interface Part {
  readonly text: string;
  readonly colour: Colour | undefined;
}

interface RunLine {
  readonly program: string;
  readonly id: string;
  /** Steps and changes of hands, in their order. */
  readonly parts: Part[];
  holder: string | null;
  /** When its holder was lost; null while it has one. */
  lostAt: number | null;
  state: string;
}

const MOST_RUNS = 200;
const MOST_PARTS = 12;

export class RunLines {
  readonly #lines = new Map<string, RunLine>();

  /** `at`: monotonic milliseconds. */
  heard(event: ClusterEvent, at: number): void {
    if (event.is === "killed" || event.is === "died") this.#gone(event.node, at, `╳ ${event.node} died`);
    if (event.is === "frozen") this.#gone(event.node, at, `╳ ${event.node} frozen`);
    if (event.is === "report") this.#reported(event.node, event.report, at);
  }

  /** How many runs a node holds. */
  heldBy(node: string): number {
    return [...this.#lines.values()].filter(({ holder, lostAt }) => holder === node && lostAt === null).length;
  }

  /** The newest `most`, the newest last. */
  text(most: number, paint: Paint): string[] {
    return [...this.#lines.values()].slice(-most).map((line) => {
      const parts = line.parts.slice(-MOST_PARTS).map(({ text, colour }) => paint(text, colour));
      const who = line.holder !== null && line.lostAt === null ? paint(line.holder, "dim") : paint(line.state, "dim");
      return `${line.program.padEnd(16)} ${paint(line.id, "dim")}  ${parts.join(" ")}  ${who}`;
    });
  }

  #reported(node: string, report: NodeReport, at: number): void {
    if (report.is === "claimed") this.#claimed(node, report, at);
    const line = "runId" in report ? this.#lines.get(report.runId) : undefined;
    if (!line) return;
    if (report.is === "step") this.#step(line, report);
    if (report.is === "lost") line.parts.push({ text: `${node} woke: late write refused`, colour: "green" });
    if (report.is === "settled") {
      line.holder = null;
      const ended = ENDS[report.as];
      line.state = ended ? "" : report.as;
      if (ended) line.parts.push({ text: ended, colour: report.as === "completed" ? "green" : "red" });
    }
  }

  #claimed(node: string, report: Extract<NodeReport, { is: "claimed" }>, at: number): void {
    if (report.parent) return;
    const known = this.#lines.get(report.runId);
    const { program, runId } = report;
    const line = known ?? { program, id: runId.slice(-6), parts: [], holder: null, lostAt: null, state: "" };
    if (line.lostAt !== null) {
      const seconds = ((at - line.lostAt) / 1000).toFixed(1);
      line.parts.push({ text: `→ ${node} in ${seconds} s`, colour: "green" });
      line.lostAt = null;
    }
    line.holder = node;
    this.#lines.delete(runId);
    this.#lines.set(runId, line);
    if (this.#lines.size > MOST_RUNS) this.#lines.delete(this.#lines.keys().next().value!);
  }

  #step(line: RunLine, { step, as }: Extract<NodeReport, { is: "step" }>): void {
    const open = line.parts.findLastIndex(({ text }) => text === `${step} …`);
    if (open >= 0) line.parts.splice(open, 1);
    const [mark, colour] = MARKS[as];
    line.parts.push({ text: `${step} ${mark}`, colour });
  }

  #gone(node: string, at: number, text: string): void {
    for (const line of this.#lines.values()) {
      if (line.holder !== node || line.lostAt !== null) continue;
      line.lostAt = at;
      line.state = "no owner";
      line.parts.push({ text, colour: "red" });
    }
  }
}

const MARKS: Readonly<Record<"begun" | "done" | "retried" | "failed", readonly [string, Colour | undefined]>> = {
  begun: ["…", undefined],
  done: ["✓", undefined],
  retried: ["↻", "yellow"],
  failed: ["✗", "red"],
};

const ENDS: Readonly<Record<string, string>> = {
  completed: "✓ completed",
  failed: "▲ failed",
  dead: "✕ dead",
  cancelled: "– cancelled",
};
