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
    expect(coloured.written.join("")).toContain("\x1b[31mdead\x1b[0m");
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
