// On a terminal: colours, width, and the screen that is redrawn. In this process, with a terminal that records its output.

import { describe, expect, test } from "vitest";
import { runCommandLine } from "../../src/cli/command-line.js";
import type { Terminal } from "../../src/cli/text/terminal.js";
import { systemWorld } from "../../src/kernel/system-world.js";
import { scene } from "../store/scene.js";
import { seed } from "./seed.js";

const { store, url, schema } = scene();
const world = systemWorld();

function noting(more: Partial<Terminal> = {}) {
  const written: string[] = [];
  const controller = new AbortController();
  const terminal: Terminal = {
    write(text) {
      written.push(text);
      if (written.length === 2) controller.abort();
    },
    writeError: (text) => void written.push(text),
    columns: 72,
    isTTY: true,
    env: { DATABASE_URL: url },
    cwd: "/",
    interrupted: () => controller.signal,
    ...more,
  };
  return { terminal, written };
}

describe("on a terminal", () => {
  test("states have colours, unless NO_COLOR is set, and lines fit the window", async () => {
    await seed(store, "default");
    const coloured = noting();
    expect(await runCommandLine(["runs", "--schema", schema], coloured.terminal, world)).toBe(0);
    expect(coloured.written.join("")).toContain("\x1b[31mdead\x1b[39m");
    const plain = noting({ env: { DATABASE_URL: url, NO_COLOR: "1" } });
    await runCommandLine(["runs", "--schema", schema], plain.terminal, world);
    expect(plain.written.join("")).not.toContain("\x1b");
    for (const line of plain.written.join("").split("\n")) expect(line.length).toBeLessThanOrEqual(72);
  });

  test("--watch redraws the screen until ctrl-c", async () => {
    const { terminal, written } = noting();
    expect(await runCommandLine(["nodes", "--watch", "--schema", schema], terminal, world)).toBe(0);
    expect(written).toHaveLength(2);
    for (const frame of written) {
      expect(frame.startsWith("\x1b[H")).toBe(true);
      expect(frame).toContain("node-a");
      expect(frame.endsWith("\x1b[J")).toBe(true);
    }
  });

  test("a list is watched, a verb is not", async () => {
    for (const words of [["dead"], ["schedules"], ["subscriptions"], ["definitions"], ["instances"]]) {
      const { terminal, written } = noting();
      expect(await runCommandLine([...words, "--watch", "--schema", schema], terminal, world), words[0]).toBe(0);
      expect(written).toHaveLength(2);
    }
    const { terminal, written } = noting();
    expect(await runCommandLine(["dead", "retry", "--yes", "--watch", "--schema", schema], terminal, world)).toBe(2);
    expect(written.join("")).toContain("--watch repeats a list");
  });

  test("many runs are changed only after a person has agreed to their number, or with --yes", async () => {
    const asked: string[] = [];
    const answering = (answer: boolean | null) => {
      const ask = async (question: string) => {
        asked.push(question);
        return answer;
      };
      return noting({ ask });
    };
    const words = ["prune", "--older-than", "0s", "--state", "failed", "--schema", schema];
    for (const answer of [false, null]) {
      const { terminal, written } = answering(answer);
      expect(await runCommandLine(words, terminal, world)).toBe(1);
      expect(written.join("")).toBe("holdfast: Nothing was done.\n");
    }
    const absent = noting();
    expect(await runCommandLine(words, absent.terminal, world)).toBe(2);
    expect(absent.written.join("")).toContain("add --yes where no person can answer");
    const inJson = answering(true);
    expect(await runCommandLine([...words, "--json"], inJson.terminal, world)).toBe(2);
    expect(asked).toEqual(Array(2).fill("Delete 1 run of env default (1 failed), with their journals?"));
    const agreed = answering(true);
    expect(await runCommandLine(words, agreed.terminal, world)).toBe(0);
    expect(agreed.written.join("")).toBe("1 run deleted.\n");
    const empty = noting();
    expect(await runCommandLine(words, empty.terminal, world)).toBe(0);
    expect(empty.written.join("")).toBe("0 runs deleted.\n");
  });

  test("an unexpected error is reported as a bug, with where it happened", async () => {
    const { terminal, written } = noting({
      interrupted() {
        throw new ReferenceError("boom");
      },
    });
    expect(await runCommandLine(["runs", "--watch"], terminal, world)).toBe(1);
    expect(written.join("")).toMatch(/^holdfast: boom\nThis is a bug; please report it\.\n +at /);
  });
});
