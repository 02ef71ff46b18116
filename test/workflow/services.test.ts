// Services created for each run: a function that throws is tried again, as a step would be.

import { expect, test } from "vitest";
import { PermanentError } from "../../src/replay/step-error.js";
import { testNode } from "../../src/testing/index.js";
import { workflow } from "../../src/workflow/workflow.js";

test.for([
  [2, new Error("not now"), "done", 3],
  [3, new Error("not now"), "not now", 3],
  [1, new PermanentError("never"), "never", 1],
] as const)("services that throw %i times", async ([failures, error, outcome, attempts]) => {
  let calls = 0;
  const plain = workflow("plain", async () => "done");
  const services = () => {
    if (++calls <= failures) throw error;
    return {};
  };
  await using node = await testNode({ programs: [plain], services });
  const run = await node.start(plain);
  expect(await run.result().catch(({ cause }: { cause: Error }) => cause.message)).toBe(outcome);
  expect(calls).toBe(attempts);
});
