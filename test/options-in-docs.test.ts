// Every option of every public call is on a page of the documentation.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "..");

/** The interfaces of options, by the file that declares them. */
const OPTIONS: Readonly<Record<string, readonly string[]>> = {
  "actor/actor.ts": ["ActorOptions"],
  "actor/budget.ts": ["BudgetOptions"],
  "actor/expectation.ts": ["ExpectationOptions"],
  "compat/queue-options.ts": ["QueueOptions"],
  "compat/worker-options.ts": ["WorkerOptions"],
  "dag/dag.ts": ["DagOptions"],
  "dag/task.ts": ["TaskOptions", "EachOptions", "EachWhenOptions"],
  "graph/attempt-rules.ts": ["NodeOptions"],
  "lease/leases.ts": ["AcquireOptions", "CommonOptions"],
  "machine/instance.ts": ["InstanceOptions", "SendEventOptions", "SendLaterOptions"],
  "machine/machine.ts": ["MachineOptions"],
  "otel/open-telemetry.ts": ["OpenTelemetryOptions"],
  "timeout/sweeper-options.ts": ["SweeperOptions"],
  "program/start-options.ts": ["StartOptions"],
  "client/backfill.ts": ["BackfillOptions"],
  "client/definitions.ts": ["SaveOptions"],
  "client/found-runs.ts": ["RunQuery", "RunKey", "RunPageOptions"],
  "client/graph/graph-run-options.ts": ["ForkOptions", "RewindOptions", "RecoverOptions"],
  "client/identity.ts": ["IdentityOptions"],
  "client/nodes.ts": ["ModeOptions", "DrainOptions"],
  "client/watch-ends.ts": ["WatchEndsOptions"],
  "client/run-handle.ts": ["SendOptions", "SignalOptions", "DecisionOptions", "RetryRunOptions"],
  "client/create-client.ts": ["ClientOptions", "ByName"],
  "client/retention.ts": ["EndedFilter", "RemovalOptions"],
  "client/dead-letters.ts": ["DeadFilter", "RetryOptions", "RetryAllOptions"],
  "client/watch-run.ts": ["WatchOptions"],
  "kernel/run/retry.ts": ["RetryRule"],
  "kernel/setting/retention.ts": ["RetentionOptions"],
  "kernel/setting/setting-options.ts": ["TimingOptions", "FlowSettings", "RecoverySettings"],
  "node/node-options.ts": ["NodeOptions", "FlowOptions", "RecoveryOptions", "DefinitionOptions"],
  "store/postgres/open.ts": ["PostgresOptions"],
  "trigger/event.ts": ["OnOptions"],
  "trigger/emitter.ts": ["EmitOptions"],
  "trigger/schedule.ts": ["ScheduleOptions", "CronOptions"],
  "workflow/context.ts": ["StepOptions", "ApprovalOptions", "ChildOptions", "OutputOptions"],
  "workflow/workflow.ts": ["WorkflowOptions"],
  "admin/auth/authenticate.ts": ["ProxyOptions", "TokenOptions"],
  "admin/client.ts": ["AdminClientOptions"],
  "admin/dashboard.ts": ["DashboardOptions", "ListenOptions"],
  "embedded/start.ts": ["EmbeddedOptions"],
  "engine/claiming/routing.ts": ["RoutingOptions"],
  "graph/node/node-cache.ts": ["CacheOptions"],
  "graph/node/question.ts": ["AskOptions"],
  "lease/leader.ts": ["LeaderOptions"],
  "lease/store-claims.ts": ["StoreClaimsOptions"],
  "machine/definition.ts": ["EffectOptions", "MermaidOptions"],
  "client/graph/stream-run.ts": ["StreamOptions"],
  "kernel/breaker-rule.ts": ["CircuitBreaker"],
  "kernel/limit-rule.ts": ["FlowOptions", "KeyedLimit", "RateLimit"],
  "store/memory/memory-store.ts": ["MemoryStoreOptions"],
  "store/postgres/migrate.ts": ["MigrateOptions", "MigrationSqlOptions"],
  "testing/node/test-bed.ts": ["BedOptions"],
  "testing/simulate/simulate.ts": ["SimulateOptions"],
  "timeout/store-timeouts.ts": ["TimeoutStoreOptions"],
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
  const [inner, indent] = [`[\\s\\S]*?\\{([\\s\\S]*?)`, "  "];
  const found = new RegExp(`interface ${name}\\b${inner}\\n\\}|type ${name}\\b${inner}\\n${indent}\\};`).exec(text);
  const members = (found?.[1] ?? found?.[2] ?? "").matchAll(/^(?: {2}| {4})(?:readonly )?(\w+)\??:/gm);
  return [...members].map(([, member]) => member!);
}

for (const [file, interfaces] of Object.entries(OPTIONS)) {
  test.each(interfaces)(`the options of %s in ${file} are documented`, (name) => {
    const members = membersOf(file, name);
    expect(members.length, "the interface was not found, or has no options").toBeGreaterThan(0);
    expect(members.filter((member) => !isDocumented(member))).toEqual([]);
  });
}
