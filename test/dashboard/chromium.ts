// How browsers are started for tests and benchmarks.

import { accessSync, constants } from "node:fs";

const PATHS = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

export const CHROMIUM_FLAGS = ["--no-sandbox", "--disable-dev-shm-usage"];

/** For benchmarks; tests report a missing browser by `describeWith`. */
export function chromiumPath(): string {
  const found = [process.env["HOLDFAST_BROWSER"] ?? "", ...PATHS].find((path) => {
    try {
      accessSync(path, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
  if (found === undefined) throw new TypeError("Chromium is not installed; HOLDFAST_BROWSER names another one");
  return found;
}
