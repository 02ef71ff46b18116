// The lines of `holdfast dev`: steps, changes of hands with their time, a refused late write.

import { expect, test } from "vitest";
import { RunLines } from "../../src/cli/dev/run-lines.js";
import type { NodeReport } from "../../src/dev/node-report.js";

const plain = (text: string) => text;
const RUN = "01a1e853-2e28-7000-a689-bc7ea0d4f166";

function story(...events: readonly (readonly [number, string, NodeReport | "killed" | "frozen"])[]): string {
  const lines = new RunLines();
  for (const [at, node, what] of events) {
    if (what === "killed") lines.heard({ is: "killed", node }, at);
    else if (what === "frozen") lines.heard({ is: "frozen", node, ms: 8_000 }, at);
    else lines.heard({ is: "report", node, report: what }, at);
  }
  return lines.text(5, plain).join("\n").replace(/ +/g, " ");
}

const claimed = (epoch: number, parent = false): NodeReport => ({
  is: "claimed",
  runId: RUN,
  program: "order",
  epoch,
  parent,
});
const step = (name: string, as: "begun" | "done"): NodeReport => ({ is: "step", runId: RUN, step: name, as });

test("a step is begun, then done", () => {
  expect(story([0, "node-a", claimed(1)], [1, "node-a", step("charge", "begun")])).toContain("charge … node-a");
  const done = story(
    [0, "node-a", claimed(1)],
    [1, "node-a", step("charge", "begun")],
    [2, "node-a", step("charge", "done")],
  );
  expect(done).toBe("order d4f166 charge ✓ node-a");
});

test("a killed node, and how long it took another to continue", () => {
  const text = story([0, "node-a", claimed(1)], [1_000, "node-a", "killed"], [2_900, "node-b", claimed(2)]);
  expect(text).toBe("order d4f166 ╳ node-a died → node-b in 1.9 s node-b");
});

test("a frozen node that wakes, and its late write", () => {
  const lost: NodeReport = { is: "lost", runId: RUN, epoch: 1 };
  const text = story(
    [0, "node-a", claimed(1)],
    [0, "node-a", "frozen"],
    [4_000, "node-b", claimed(2)],
    [8_000, "node-a", lost],
  );
  expect(text).toContain("╳ node-a frozen → node-b in 4.0 s node-a woke: late write refused node-b");
});

test("an ended run says how; tasks have no line of their own", () => {
  const settled: NodeReport = { is: "settled", runId: RUN, as: "failed", error: "X" };
  expect(story([0, "node-a", claimed(1)], [1, "node-a", settled])).toBe("order d4f166 ▲ failed ");
  expect(story([0, "node-a", claimed(1, true)])).toBe("");
});
