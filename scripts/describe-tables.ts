// Writes the reference of the tables from the snapshot of the schema: what docs/tables.md has to say.

import { readFileSync } from "node:fs";
import { join } from "node:path";

const SNAPSHOT = join(import.meta.dirname, "..", "src", "store", "postgres", "schema.snapshot.txt");

const HEAD = `# Tables

\`\`\`sh
npx holdfast migrate --print   # the SQL of every table, index and trigger, to review
\`\`\`

The tables of the schema (\`holdfast\` by default), generated from the database by \`npm run reference\`. Read them for reports; write
only through Holdfast, because the fence, the counters and the wake-ups are part of each statement. Names and columns may change in a
release; migrations carry the rows over. [What grows, and what removes it](stores.md#what-grows-and-what-removes-it) says how large
they become.

- **Hot**: written with every claim or commit. A long transaction elsewhere makes these slow first; \`holdfast doctor\` shows it.
- \`*\` marks the columns of the primary key.
- Times are \`timestamptz\` of the database's clock. Ids of runs are UUIDs that sort by time.
- \`codec\` and \`data\` hold a value as text, written by the codec with that name.
`;

const GROUPS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Runs: {
    runs: "Hot. One row per run: state, claim (owner, token, epoch, lease), counters. No values.",
    journal: "Hot. The log of each run: every value, step, wait and end, numbered without gaps.",
    inbox: "What others sent to a run: signals, decisions, ends of children, requests to cancel or pause.",
    run_keys: "The key a run was started under; a second start finds it.",
    run_attributes: "Search attributes of runs.",
    run_needs: "Which tasks of a DAG need which.",
    run_limits: "The places of runs under limits: held, admitted, their order.",
    reclaimed_claims: "Claims that were reclaimed: from which node, by which, when.",
    misfit_runs: "Runs whose journal some build does not fit.",
    kept_values: "Values that graphs keep across runs, by space and key.",
    deferred_runs: "Runs that a node started and left to others, and until when.",
  },
  "Queues and limits": {
    claim_groups: "Env, stack, queue, program and version as one number, with the declared limits and recovery.",
    limit_rates: "The windows of rate limits.",
    paused_queues: "Queues that a person has paused, and who.",
    breaker_probes: "The runs that a half-open circuit breaker let through.",
  },
  Triggers: {
    schedules: "Declared schedules with their next window.",
    subscriptions: "Which events start which programs, as nodes declared them.",
    subscribers: "Which nodes declare which subscriptions.",
    debounces: "Hot while events are debounced. The subject, its last event, its run.",
  },
  "State machines and timeouts": {
    instances: "One row per instance of a machine: state, sequence, snapshot.",
    instance_events: "The log of each instance.",
    timers: "Deadlines of instances.",
    timeouts: "Durable timeouts of `holdfast/timeout`.",
  },
  "Nodes and leases": {
    nodes: "Hot. One row per incarnation of a node: heartbeat, presence, mode, what it serves.",
    programs:
      "What each program looks like: its kind, its declared shape and the schema of its input, for drawing it without its code.",
    kept_modes: "Modes that stay for later starts of an identity.",
    leases: "Named leases and leaders: owner, epoch, until when.",
  },
  "Definitions and operators": {
    definitions: "Programs as data: the current version of each.",
    definition_versions: "All versions of them that runs still need.",
    audit: "Who did what through the admin API, with before and after. Rows cannot be changed.",
    tokens: "Hashes of access tokens of the admin API.",
  },
  Upkeep: {
    run_figures: "Counts and durations over time, for the dashboard and metrics.",
    queue_figures: "Depth and age of queues over time.",
    cleanups: "How far each part of the clean-up has come.",
    meta: "Facts about the schema: the oldest package that may use it.",
    migrations: "The migrations that were applied.",
  },
};

export function describeTables(): string {
  const found = new Map(
    readFileSync(SNAPSHOT, "utf8")
      .split("\n\n")
      .flatMap((part) => {
        const [, name] = /^table (\w+)/.exec(part) ?? [];
        return name === undefined ? [] : [[name, columnsOf(part)] as const];
      }),
  );
  const parts = Object.entries(GROUPS).map(([title, tables]) => {
    const rows = Object.entries(tables).map(([name, purpose]) => {
      const columns = found.get(name);
      if (!columns) throw new RangeError(`there is no table ${name}; remove it from scripts/describe-tables.ts`);
      found.delete(name);
      return wrapped(`- **\`${name}\`**: ${purpose} Columns: ${columns}.`);
    });
    return `## ${title}\n\n${rows.join("\n")}\n`;
  });
  if (found.size > 0)
    throw new RangeError(`say in scripts/describe-tables.ts what ${[...found.keys()].join(", ")} holds`);
  return `${HEAD}\n${parts.join("\n")}`;
}

/** As an item of a list, in lines of the width of this documentation. */
export function wrapped(item: string): string {
  const lines = [""];
  for (const word of item.split(" ")) {
    const line = lines.at(-1)!;
    if (line.length + word.length > 130) lines.push(`  ${word}`);
    else lines[lines.length - 1] = line === "" ? word : `${line} ${word}`;
  }
  return lines.join("\n");
}

/** Columns of the primary key are marked. */
function columnsOf(part: string): string {
  const key = /PRIMARY KEY \(([^)]*)\)/.exec(part)?.[1]?.split(", ") ?? [];
  const names = part
    .split("\n")
    .flatMap((line) => /^ {2}([a-z_]+) (?!.*:)/.exec(line)?.[1] ?? /^ {2}([a-z_]+) .*::/.exec(line)?.[1] ?? []);
  return names
    .filter((name) => name !== "constraint")
    .map((name) => (key.includes(name) ? `\`${name}\`*` : `\`${name}\``))
    .join(", ");
}
