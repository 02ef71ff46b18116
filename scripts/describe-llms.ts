// Writes llms.txt (llmstxt.org): what Holdfast is, and every page with its first sentence, in the order of docs/README.md.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { wrapped } from "./describe-tables.js";

const ROOT = join(import.meta.dirname, "..");
const DOCS = join(ROOT, "docs");

const HEAD = `# Holdfast

> TypeScript library for durable work on many Node.js processes that share only PostgreSQL: workflows, DAGs, graphs, state machines and
> actors that continue on another node after a crash. Node ≥ 20.19, PostgreSQL ≥ 14, no other server.

- Install: \`npm install holdfast\`; \`npx holdfast init\` writes an app and its test, \`npx holdfast dev\` runs it with the dashboard.
- A workflow is \`workflow(name, async (ctx, input) => …)\`. Each \`ctx.step(name, fn)\` is recorded once; a step that was interrupted is
  executed again, with the same \`idempotencyKey\`. Code between steps must be deterministic: use \`ctx.now()\`, \`ctx.random()\`, \`ctx.uuid()\`.
- \`createNode({ store: postgres(url), programs })\` claims and executes runs; \`createClient({ store })\` starts and watches them.
- Tests: \`testNode\`, \`simulate\` and \`replay\` of \`holdfast/testing\`, with virtual time and crashes at every step.
`;

export function describeLlms(): string {
  const index = readFileSync(join(DOCS, "README.md"), "utf8");
  const lines: string[] = [];
  const seen = new Set<string>(["README.md"]);
  for (const [, heading, file] of index.matchAll(/^## (?:\d+\. )?(.+)$|\]\(([a-z-]+\.md)(?:#[^)]*)?\)/gm)) {
    if (heading) lines.push("", `## ${heading}`, "");
    if (!file || seen.has(file)) continue;
    seen.add(file);
    lines.push(pageLine(file));
  }
  const missing = readdirSync(DOCS).filter((name) => name.endsWith(".md") && !seen.has(name));
  if (missing.length > 0) throw new RangeError(`docs/README.md does not link ${missing.join(", ")}`);
  const text = `${HEAD}${lines.join("\n")}\n`;
  // A heading without a page of its own.
  return text.replace(/\n## [^\n]+\n\n(?=\n)/g, "");
}

function pageLine(file: string): string {
  const page = readFileSync(join(DOCS, file), "utf8");
  const title = /^# (.+)$/m.exec(page)![1]!;
  const prose = page
    .replace(/```[\s\S]*?```/g, "")
    .split("\n\n")
    .map((part) => part.trim().replace(/\s+/g, " "))
    .find((part) => /^[A-Z`[]/.test(part));
  const sentence = /^.*?[.:](?= |$)/.exec(prose ?? "")?.[0] ?? prose ?? "";
  const plain = sentence.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").replace(/:$/, ".");
  return wrapped(`- [${title}](docs/${file}): ${plain}`);
}
