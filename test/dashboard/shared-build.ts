// The dashboard, built once for all test files of a run: the first that asks builds it, the others wait for it.

import { existsSync, mkdirSync, renameSync } from "node:fs";
import { inject } from "vitest";
import { buildDashboard } from "./built.js";

declare module "vitest" {
  interface ProvidedContext {
    /** Removed at the end of the run. */
    dashboardFolder: string;
  }
}

/** The folder of the build, which belongs to all test files of the run. */
export async function sharedDashboard(): Promise<string> {
  const folder = inject("dashboardFolder");
  const built = `${folder}/built`;
  if (isFirst(`${folder}/building`)) renameSync((await buildDashboard({ into: `${folder}/new` })).folder, built);
  while (!existsSync(built)) await new Promise((next) => setTimeout(next, 50));
  return built;
}

function isFirst(mark: string): boolean {
  try {
    mkdirSync(mark);
    return true;
  } catch {
    return false;
  }
}
