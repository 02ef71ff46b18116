// Every option of every public call is on a page of the documentation.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "..");

/** The interfaces of options, by the file that declares them. */
const OPTIONS: Readonly<Record<string, readonly string[]>> = {
  "program/start-options.ts": ["StartOptions"],
  "client/run-handle.ts": ["SendOptions", "SignalOptions", "DecisionOptions"],
  "client/create-client.ts": ["ClientOptions", "ByName"],
  "client/retention.ts": ["EndedFilter", "RemovalOptions"],
  "client/dead-letters.ts": ["DeadFilter", "RetryOptions"],
  "client/watch-run.ts": ["WatchOptions"],
  "kernel/run/retry.ts": ["RetryRule"],
  "kernel/setting/retention.ts": ["RetentionOptions"],
  "kernel/setting/setting-options.ts": ["TimingOptions", "FlowSettings", "RecoverySettings"],
  "node/node-options.ts": ["NodeOptions", "FlowOptions", "RecoveryOptions", "DefinitionOptions"],
  "store/postgres/open.ts": ["PostgresOptions"],
  "trigger/event.ts": ["OnOptions"],
  "trigger/emitter.ts": ["EmitOptions"],
  "trigger/schedule.ts": ["ScheduleOptions", "CronOptions"],
  "workflow/context.ts": ["StepOptions", "ApprovalOptions"],
  "workflow/workflow.ts": ["WorkflowOptions"],
};

const pages = readdirSync(join(ROOT, "docs"))
  .filter((name) => name.endsWith(".md"))
  .map((name) => readFileSync(join(ROOT, "docs", name), "utf8"))
  .join("\n");
/** In code: `name`, `group.name`, `name: …`, `name(…)` and the lines of examples. */
const isDocumented = (name: string) => new RegExp(`[\`{.,(\\s]${name}(?=[\`:.,(\\s}?=])`).test(codeOf(pages));
const codeOf = (text: string) => (text.match(/```[\s\S]*?```|`[^`\n]+`/g) ?? []).join("\n");

function membersOf(file: string, name: string): string[] {
  const text = readFileSync(join(ROOT, "src", file), "utf8");
  const found = new RegExp(`interface ${name}\\b[^{]*\\{([\\s\\S]*?)\\n\\}`).exec(text);
  return [...(found?.[1] ?? "").matchAll(/^ {2}readonly (\w+)\??:/gm)].map(([, member]) => member!);
}

for (const [file, interfaces] of Object.entries(OPTIONS)) {
  test.each(interfaces)(`the options of %s in ${file} are documented`, (name) => {
    const members = membersOf(file, name);
    expect(members.length, "the interface was not found, or has no options").toBeGreaterThan(0);
    expect(members.filter((member) => !isDocumented(member))).toEqual([]);
  });
}
