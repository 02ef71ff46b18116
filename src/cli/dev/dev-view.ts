// How a development cluster is shown: one line, or one JSON object, per event.

import type { AppProblem } from "../../admin/supervisor.js";
import type { ClusterEvent } from "../../dev/cluster.js";
import type { World } from "../../kernel/world.js";
import type { Colour, Paint } from "../text/paint.js";
import type { Terminal } from "../text/terminal.js";
import { jsonLine, visible } from "../text/visible.js";

export interface DevView {
  /** The addresses, once they are known. */
  opened(dashboard: string, database: string): void;
  notice(text: string, colour?: Colour): void;
  heard(event: ClusterEvent): void;
  close(): void;
}

export interface ViewParts {
  readonly terminal: Terminal;
  readonly paint: Paint;
  readonly world: World;
}

/** Without a terminal, and for `--once`. */
export function lineView({ terminal, paint, world }: ViewParts, quiet: boolean): DevView {
  const begunAt = world.monotonicNow();
  const notice = (text: string, colour?: Colour) => {
    if (quiet) return;
    const seconds = ((world.monotonicNow() - begunAt) / 1000).toFixed(1).padStart(6);
    terminal.write(`${paint(`${seconds} s`, "dim")}  ${paint(visible(text), colour)}\n`);
  };
  return {
    opened: (dashboard, database) => {
      notice(database);
      notice(`dashboard  ${dashboard}`);
    },
    notice,
    heard: (event) => {
      const said = sentenceOf(event);
      if (said) notice(said.text, said.colour);
      if (event.is === "broken" && !quiet) terminal.write(problemText(event.problem, paint));
    },
    close() {},
  };
}

/** One object per line. */
export function jsonView({ terminal, world }: ViewParts): DevView {
  const write = (value: object) =>
    terminal.write(`${jsonLine({ at: new Date(world.wallNow()).toISOString(), ...value })}\n`);
  return {
    opened: (dashboard, database) => write({ is: "opened", dashboard, database }),
    notice: (text) => write({ is: "notice", text }),
    heard: (event) => write(event.is === "report" ? { ...event.report, node: event.node } : event),
    close() {},
  };
}

export function problemText({ message, frame }: AppProblem, paint: Paint): string {
  const lines = [...message.split("\n").map((line) => paint(visible(line), "red")), ...frame.split("\n").map(visible)];
  return lines.map((line) => `    ${line}\n`).join("");
}

interface Said {
  readonly text: string;
  readonly colour?: Colour;
}

export function sentenceOf(event: ClusterEvent): Said | null {
  switch (event.is) {
    case "killed":
      return { text: `${event.node} was killed`, colour: "red" };
    case "died":
      return { text: `${event.node} died`, colour: "red" };
    case "frozen":
      return { text: `${event.node} is frozen for ${event.ms / 1000} s, longer than its lease`, colour: "red" };
    case "woke":
      return { text: `${event.node} wakes and does not know that time has passed`, colour: "yellow" };
    case "started":
      return { text: `${event.node} is up`, colour: "green" };
    case "deployed":
      return {
        text: `deployed: ${event.nodes} new nodes are up, the old ones have drained, ${Math.round(event.ms)} ms`,
      };
    case "broken":
      return { text: "the code cannot be loaded; what runs stays:", colour: "red" };
    case "output":
      return { text: `${event.node} | ${event.line}` };
    case "report":
      return reported(event.node, event.report);
  }
}

function reported(node: string, report: Extract<ClusterEvent, { is: "report" }>["report"]): Said | null {
  if (!("runId" in report)) return null;
  const run = report.runId.slice(-6);
  switch (report.is) {
    case "claimed":
      return { text: `${node}  ${run}  ${report.program} claimed, claim ${report.epoch}` };
    case "step":
      return { text: `${node}  ${run}  ${report.step} ${report.as}` };
    case "settled":
      return { text: `${node}  ${run}  ${report.as}${report.error === null ? "" : `: ${report.error}`}` };
    case "lost":
      return { text: `${node}  ${run}  late write under claim ${report.epoch} refused`, colour: "green" };
    case "reclaimed":
      return { text: `${node}  ${run}  reclaimed from ${report.from}`, colour: "yellow" };
  }
}
