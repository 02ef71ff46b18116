// A clone of this repository: `npm install`, `npm start`, and a browser that waits for the first run that is shown as completed.

import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { chromium } from "playwright-core";
import { CHROMIUM_FLAGS, chromiumPath } from "../test/dashboard/chromium.js";
import type { PartOptions } from "./parts.js";

/** In seconds. What is not committed is not measured. */
export async function benchFresh({ say }: PartOptions): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-fresh-"));
  execFileSync("git", ["clone", "--quiet", "--depth", "1", `file://${process.cwd()}`, folder]);
  const startedAt = performance.now();
  const seconds = () => Math.round((performance.now() - startedAt) / 100) / 10;
  execFileSync("npm", ["install", "--silent", "--no-audit", "--no-fund"], { cwd: folder, stdio: "inherit" });
  say(`     installed after ${seconds()} s`);
  // A group of its own: npm does not pass a signal on to what it started.
  const child = spawn("npm", ["start", "--silent", "--", "--json", "--port", "0"], {
    cwd: folder,
    stdio: ["ignore", "pipe", "inherit"],
    detached: true,
  });
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const browser = await chromium.launch({ executablePath: chromiumPath(), args: CHROMIUM_FLAGS });
  try {
    const url = await new Promise<string>((resolve, reject) => {
      void ended.then(() => reject(new TypeError("npm start has ended")));
      createInterface({ input: child.stdout }).on("line", (line) => {
        if (!line.startsWith("{")) return;
        const event = JSON.parse(line) as { readonly is: string; readonly dashboard?: string };
        if (event.is === "opened") resolve(event.dashboard!);
      });
    });
    say(`     dashboard after ${seconds()} s`);
    const page = await browser.newPage();
    await page.goto(`${url}runs?state=completed`);
    const row = page.locator(".run-row .state.is-completed").first();
    for (;;) {
      if (
        await row.waitFor({ timeout: 500 }).then(
          () => true,
          () => false,
        )
      )
        return seconds();
      await page.reload();
    }
  } finally {
    await browser.close();
    process.kill(-child.pid!, "SIGTERM");
    await ended;
    rmSync(folder, { recursive: true, force: true });
  }
}
