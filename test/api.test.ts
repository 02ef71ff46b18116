// The public surface: every name has a comment, the API reference and the API report are what the source says.

import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { type ApiFiles, describeApi } from "../scripts/api/describe.js";
import { emitDeclarations } from "../scripts/api/emit.js";

const ROOT = join(import.meta.dirname, "..");
const WRITE = "run `npm run api` and look at the difference";

describe("the API of the package", () => {
  let described: ApiFiles;
  beforeAll(async () => {
    await using emitted = await emitDeclarations();
    described = describeApi(emitted.folder);
  }, 60_000);

  test("has a comment on every public name and member", () => {
    expect(described.bare).toEqual([]);
  });

  test("is what the reference and the report say", () => {
    const there = ["api", "docs/api"].flatMap((folder) =>
      readdirSync(join(ROOT, folder)).map((name) => `${folder}/${name}`),
    );
    expect(there.sort(), WRITE).toEqual([...described.files.keys()].sort());
    const differing = [...described.files].filter(([name, text]) => readFileSync(join(ROOT, name), "utf8") !== text);
    expect(
      differing.map(([name]) => name),
      WRITE,
    ).toEqual([]);
  });

  test("has an example for the functions that most programs call", () => {
    const verbs = [
      "workflow",
      "createNode",
      "createClient",
      "signal",
      "on",
      "cron",
      "dag",
      "graph",
      "actor",
      "machine",
    ];
    const pages = [...described.files].filter(([name]) => name.startsWith("docs/api/")).map(([, text]) => text);
    const sections = pages.flatMap((page) => page.split(/^### /m));
    const without = verbs.filter(
      (verb) => !sections.some((text) => text.startsWith(`${verb}()\n`) && text.includes("```ts\n")),
    );
    expect(without).toEqual([]);
  });
});

describe("a description of declarations", () => {
  /** The main entry point of a package with one file more; the other entry points are empty. */
  function describeFiles(index: string, part: string): ApiFiles {
    const folder = mkdtempSync(join(tmpdir(), "holdfast-api-test-"));
    try {
      writeFileSync(join(folder, "index.d.ts"), index);
      writeFileSync(join(folder, "part.d.ts"), part);
      return describeApi(folder, { ".": { types: "./dist/index.d.ts" } });
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }

  test("names what has no comment, by file and member, also behind what is exported", () => {
    const { bare } = describeFiles(
      'export { open, type Options } from "./part.js";\n',
      `
      /** Options. */
      export interface Options extends Base { readonly silent: number; /** Said. */ readonly loud: number; }
      interface Base { /** Said in the base. */ readonly shared: number; }
      export declare function open(options: Options): Hidden;
      /** Never exported. */
      interface Hidden { readonly also: number; }
      `,
    );
    expect(bare).toEqual([
      "part.ts: Options.silent",
      "part.ts: function open",
      "part.ts: interface Base",
      "part.ts: Hidden.also",
    ]);
  });

  test("takes a comment from the class or interface that declares the member first", () => {
    const { bare } = describeFiles(
      'export { Wrong } from "./part.js";\n',
      `
      /** The base. */
      declare abstract class Base { /** Stable. */ abstract readonly code: string; }
      /** An error. */
      export declare class Wrong extends Base { #private; private hidden; readonly code = "WRONG"; constructor(); }
      `,
    );
    expect(bare).toEqual([]);
  });

  test("shows a signature without comments and private members, and its default and example", () => {
    const { files } = describeFiles(
      'export { make, type Wide } from "./part.js";\n',
      `
      /** Wide. */
      export declare class Wide { #private; private secret; /** Its size. @default 3 */ readonly size?: number; }
      /**
       * Makes one.
       *
       * @example
       * \`\`\`ts
       * make("https://x"); // text
       * \`\`\`
       */
      export declare function make(name: "https://x"): Wide;
      `,
    );
    const report = files.get("api/holdfast.api.md")!;
    expect(report).toContain('class Wide {\n  readonly size?: number;\n}\n\nfunction make(name: "https://x"): Wide;');
    const page = files.get("docs/api/holdfast.md")!;
    expect(page).toContain("- **`size`**: Its size. Default: 3.");
    expect(page).toContain('```ts\nmake("https://x"); // text\n```');
    expect(page).toContain("Mentions [Wide](#class-wide).");
  });
});
