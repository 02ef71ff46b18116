// A development cluster on a terminal: nodes, a live line per run, the last events, and keys that harm it.

import type { AppProblem, Supervisor } from "../../admin/supervisor.js";
import type { ClusterEvent } from "../../dev/cluster.js";
import { cutTo } from "../text/cut.js";
import type { Colour } from "../text/paint.js";
import { widthOf } from "../text/terminal.js";
import { visible } from "../text/visible.js";
import { type DevView, problemText, sentenceOf, type ViewParts } from "./dev-view.js";
import { RunLines } from "./run-lines.js";

const DRAW_MS = 100;
const RUNS_SHOWN = 14;
const EVENTS_SHOWN = 6;
const KEYS = "o open · k kill · f freeze · r restart · q quit";
const MARKS: Readonly<Record<string, readonly [string, Colour | undefined]>> = {
  starting: ["◌", "dim"],
  up: ["●", "green"],
  frozen: ["❄", "cyan"],
  stopping: ["◍", "yellow"],
  down: ["○", "red"],
};

export interface ScreenParts extends ViewParts {
  readonly title: string;
  readonly supervisor: () => Supervisor | null;
}

export interface ScreenView extends DevView {
  /** A question that waits for a key, or null. */
  ask(question: string | null): void;
}

const OWN_LOG = /^holdfast (info|warn) /;

export function screenView(parts: ScreenParts): ScreenView {
  const { terminal, paint, world } = parts;
  const runs = new RunLines();
  const events: string[] = [];
  let [dashboard, database] = ["…", "starting PostgreSQL"];
  let question: string | null = null;
  let cancel: (() => void) | null = null;
  const note = (text: string, colour?: Colour) => {
    events.push(paint(visible(text), colour));
    if (events.length > EVENTS_SHOWN) events.shift();
    later();
  };
  const draw = () => {
    cancel = null;
    const state = parts.supervisor()?.state();
    const nodes = (state?.nodes ?? []).map((node) => {
      const [mark, colour] = MARKS[node.state]!;
      return `${paint(mark, colour)} ${node.name} ${node.state === "up" ? `holds ${runs.heldBy(node.name)}` : node.state}`;
    });
    const lines = [
      `${paint("holdfast", "bold")}   ${parts.title}   ${paint(database, "dim")}`,
      `dashboard  ${paint(dashboard, "cyan")}   ${question === null ? paint(KEYS, "dim") : paint(question, "yellow")}`,
      nodes.join("     "),
      "",
      ...problemLines(state?.problem ?? null),
      ...runs.text(RUNS_SHOWN, paint),
      "",
      ...events,
    ];
    terminal.write(redrawn(lines, widthOf(terminal)));
  };
  const problemLines = (problem: AppProblem | null) =>
    problem === null
      ? []
      : [paint("The code cannot be loaded; what runs stays.", "red"), ...problemText(problem, paint).split("\n")];
  const later = () => {
    cancel ??= world.after(DRAW_MS, draw);
  };
  terminal.write("\x1b[?1049h\x1b[?25l");
  draw();
  return {
    opened(atDashboard, atDatabase) {
      [dashboard, database] = [atDashboard, atDatabase];
      later();
    },
    notice: note,
    heard(event: ClusterEvent) {
      runs.heard(event, world.monotonicNow());
      // Warnings of a node are about runs, which have their lines.
      if (event.is === "output" && OWN_LOG.test(event.line)) return later();
      const said = sentenceOf(event);
      // Steps are in the lines of the runs.
      if (said && (event.is !== "report" || event.report.is === "reclaimed" || event.report.is === "lost")) {
        note(said.text, said.colour);
      }
      later();
    },
    ask(asked) {
      question = asked;
      later();
    },
    close() {
      cancel?.();
      terminal.write("\x1b[?25h\x1b[?1049l");
    },
  };
}

/** From the upper left corner, each line cleared to its end: no flicker. */
function redrawn(lines: readonly string[], width: number): string {
  return `\x1b[H${lines.map((line) => `${cutTo(line, width - 1)}\x1b[0m\x1b[K\n`).join("")}\x1b[J`;
}
