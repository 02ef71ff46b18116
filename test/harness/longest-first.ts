// Orders test files: those that are known to take long come first in their group, so that no group ends with one of them.

import { relative } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { LONG, WAITING } from "./suites.js";

const RANKED = [...WAITING, ...LONG];

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const found = RANKED.indexOf(relative(this.ctx.config.root, moduleId));
      return found === -1 ? RANKED.length : found;
    };
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b));
  }
}
