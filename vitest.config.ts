// How the tests run: one embedded PostgreSQL for all files, two files at a time, no second chances.

import { join } from "node:path";
import { defineConfig } from "vitest/config";

const src = (path: string) => join(import.meta.dirname, "src", path);

export default defineConfig({
  resolve: {
    alias: [
      { find: /^holdfast$/, replacement: src("index.ts") },
      { find: /^holdfast\/(postgres|memory)$/, replacement: src("store/$1/index.ts") },
      {
        find: /^holdfast\/(dag|graph|actor|machine|lease|timeout|embedded|admin|otel|testing|compat)$/,
        replacement: src("$1/index.ts"),
      },
    ],
  },
  test: {
    include: ["test/**/*.test.ts", "examples/**/*.test.ts"],
    globalSetup: ["test/harness/global-setup.ts"],
    // Nodes and stores print warnings by default: a test that provokes them reads them from its own logger.
    env: { HOLDFAST_LOG: "off" },
    pool: "forks",
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 30_000,
    retry: 0,
    reporters: ["default", "./test/harness/count-reporter.ts"],
  },
});
