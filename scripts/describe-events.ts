// Writes the reference of the events that a node emits, from the types in the source: what docs/node-events.md has to say.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { wrapped } from "./describe-tables.js";

const ROOT = join(import.meta.dirname, "..");

/** The interfaces of events, in the order of the page. */
const PARTS: readonly (readonly [title: string, file: string, type: string])[] = [
  ["Runs, steps and nodes", "src/engine/events.ts", "EngineEvents"],
  ["Schedules", "src/trigger/trigger-events.ts", "ScheduleEvents"],
  ["Events that start runs", "src/trigger/trigger-events.ts", "TriggerEvents"],
  ["State machines", "src/machine/machine-events.ts", "MachineEvents"],
  ["Definitions", "src/actor/definition-events.ts", "ActorEvents"],
  ["Work claims", "src/node/work-guard.ts", "WorkClaimEvents"],
  ["Leases (`createLeases`); a node emits the same as `work_claim.…`", "src/lease/lease-events.ts", "LeaseEvents"],
  ["Calls to the store", "src/telemetry/store-calls.ts", "StoreEvents"],
  ["Durable timeouts (`holdfast/timeout`)", "src/timeout/sweeper-events.ts", "SweeperEvents"],
];

const HEAD = `# Events of a node

\`\`\`ts
const fired = await new Promise<{ program: string; windows: readonly string[] }>((resolve) => {
  node.on("schedule.fired", resolve);
});
console.log(fired.program, fired.windows.length);
\`\`\`

Every event that \`node.on(name, …)\` can listen to, with the names of its facts, generated from the types in the source by
\`npm run reference\`. Each also carries \`node: { identity, name, incarnation }\`. [Telemetry](telemetry.md) says which to watch; [events
that start runs](events.md) are another thing.
`;

export interface DescribedEvent {
  readonly name: string;
  readonly facts: readonly string[];
  readonly about: string;
}

/** Where types are that several events share. */
const SHARED = ["claim/recovery.ts", "limit/limits.ts", "node/attend.ts", "run/deferrals.ts"].map((file) =>
  join("src/store/contract", file),
);

export function describeEvents(): string {
  const shared = SHARED.map((file) => readFileSync(join(ROOT, file), "utf8")).join("\n");
  const parts = PARTS.map(([title, file, type]) => {
    const rows = eventsOf(`${readFileSync(join(ROOT, file), "utf8")}\n${shared}`, type).map(({ name, facts, about }) =>
      wrapped(
        `- **\`${name}\`** (${facts.map((fact) => `\`${fact}\``).join(", ")})${about === "" ? "" : `: ${about}`}`,
      ),
    );
    return `## ${title}\n\n${rows.join("\n")}\n`;
  });
  return `${HEAD}\n${parts.join("\n")}`;
}

export function eventsOf(source: string, type: string): DescribedEvent[] {
  const body = new RegExp(`interface ${type}\\b[^{]*\\{\\n([\\s\\S]*?)\\n\\}`).exec(source)![1]!;
  const found: DescribedEvent[] = [];
  const pattern = /(?:\/\*\*([\s\S]*?)\*\/\s*)?"([a-z_.]+)":([\s\S]*?);(?=\n {2}(?:"|\/\*\*)|\n*$)/g;
  for (const [, comment = "", name, facts] of body.matchAll(pattern)) {
    found.push({ name: name!, facts: factsOf(facts!, source), about: prose(comment) });
  }
  return found;
}

/** Fields written out, and those of the types of the same file that it names. */
function factsOf(text: string, source: string): string[] {
  const own = [...text.matchAll(/readonly (\w+)\??:/g)].map(([, name]) => name!);
  const named = [...text.replace(/\{[\s\S]*\}/g, "").matchAll(/\b[A-Z]\w+/g)].flatMap(([type]) => {
    const [, base, body] = new RegExp(`(?:interface|type) ${type}\\b([^{]*)\\{([\\s\\S]*?)\\n\\}`).exec(source) ?? [];
    return body === undefined
      ? []
      : [...factsOf(base!.replace(/\bextends\b|=/g, ""), source), ...factsOf(body, source)];
  });
  return [...new Set([...named, ...own])];
}

function prose(comment: string): string {
  return comment
    .replace(/\n\s*\*/g, " ")
    .replaceAll("\\`", "`")
    .replace(/\s+/g, " ")
    .trim();
}
