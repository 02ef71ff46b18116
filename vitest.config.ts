// How the tests run: one embedded PostgreSQL for all files, no second chances. First the files that mostly wait, several at a
// time; then the others, one per core.

import { join } from "node:path";
import { defineConfig, type TestProjectInlineConfiguration } from "vitest/config";
import { LongestFirst } from "./test/harness/longest-first.js";
import { ALL, canShare, isPure, WAITING } from "./test/harness/suites.js";

/** Of the machine that CI has. */
const CORES = 2;
/** As many as leave these cores half idle: what waits also measures. */
const WAITING_AT_ONCE = 3;

const src = (path: string) => join(import.meta.dirname, "src", path);

function project(name: string, test: TestProjectInlineConfiguration["test"]): TestProjectInlineConfiguration {
  return {
    resolve: {
      alias: [
        { find: /^holdfast$/, replacement: src("index.ts") },
        { find: /^holdfast\/(postgres|memory)$/, replacement: src("store/$1/index.ts") },
        { find: /^holdfast\/(drizzle|kysely|knex|prisma)$/, replacement: src("orm/$1.ts") },
        {
          find: /^holdfast\/(dag|graph|actor|machine|lease|timeout|embedded|admin|otel|testing|compat)$/,
          replacement: src("$1/index.ts"),
        },
      ],
    },
    test: {
      name,
      pool: "forks",
      testTimeout: 30_000,
      hookTimeout: 30_000,
      retry: 0,
      // A poll waits for what must come. Vitest's second is too short on a busy machine; a bound that matters is measured by its test.
      expect: { poll: { timeout: 20_000 } },
      // Nodes and stores print warnings by default: a test that provokes them reads them from its own logger.
      env: { HOLDFAST_LOG: "off" },
      ...test,
    },
  };
}

const busy = ALL.filter((file) => !WAITING.includes(file));
const shared = busy.filter(canShare);
const pure = shared.filter(isPure);

export default defineConfig({
  test: {
    globalSetup: ["test/harness/global-setup.ts"],
    // The server writes everything to disk before it stops.
    teardownTimeout: 60_000,
    sequence: { sequencer: LongestFirst },
    reporters: ["default", "./test/harness/count-reporter.ts"],
    projects: [
      project("waiting", { include: [...WAITING], maxWorkers: WAITING_AT_ONCE, sequence: { groupOrder: 0 } }),
      project("busy", {
        include: busy.filter((file) => !shared.includes(file)),
        maxWorkers: CORES,
        sequence: { groupOrder: 1 },
      }),
      project("database", {
        include: shared.filter((file) => !pure.includes(file)),
        isolate: false,
        maxWorkers: CORES,
        sequence: { groupOrder: 1 },
      }),
      project("pure", { include: pure, isolate: false, maxWorkers: CORES, sequence: { groupOrder: 1 } }),
    ],
  },
});
