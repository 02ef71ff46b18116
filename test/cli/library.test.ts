// The packages of the command are inside the build: their files load in a folder from which no package can be found.

import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { bundleCli } from "../../scripts/bundle-cli.js";

test("every library is in one file without packages, and all of them are small", async () => {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-library-"));
  try {
    writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
    const all = await bundleCli(folder);
    // The MCP server is larger than everything else; only `holdfast mcp` loads it.
    const { size } = statSync(join(folder, "mcp.js"));
    expect(size).toBeLessThan(500_000);
    expect(all - size).toBeLessThan(250_000);
    const load = (name: string) => import(/* @vite-ignore */ pathToFileURL(join(folder, `${name}.js`)).href);
    const [parse, text, prompt, progress, completion, mcp] = await Promise.all(
      ["parse", "text", "prompt", "progress", "completion", "mcp"].map(load),
    );
    expect(new parse.Parser("x").name()).toBe("x");
    expect(text.displayWidth("名前 🚀")).toBe(7);
    for (const made of [prompt.confirm, progress.SingleBar, completion.Completions, mcp.serveStdio])
      expect(made).toBeTypeOf("function");
    expect(readdirSync(folder)).toContain("parse.js");
  } finally {
    rmSync(folder, { recursive: true });
  }
});
