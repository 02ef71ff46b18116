// Ends a run with one plain line: how many tests passed and failed.

import type { Reporter, TestModule } from "vitest/node";

export default class CountReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const count = { passed: 0, failed: 0, skipped: 0, pending: 0 };
    for (const module of modules) {
      for (const test of module.children.allTests()) count[test.result().state]++;
      // A file that does not load has no tests, and counts as failed.
      if (!module.ok() && [...module.children.allTests("failed")].length === 0) count.failed++;
    }
    const skipped = count.skipped > 0 ? `, ${count.skipped} skipped` : "";
    console.log(`${count.passed} passed, ${count.failed} failed${skipped}`);
  }
}
