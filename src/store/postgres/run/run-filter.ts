// A filter of runs as conditions of a statement.

import { lowestId } from "../../../kernel/id.js";
import { attributeData } from "../../../kernel/run/attribute.js";
import { RUN_STATES, type RunState } from "../../../kernel/run/run-state.js";
import type { RunFilter } from "../../contract/run/runs.js";
import { ENDED_PARTS, endedPartOf } from "./ended-states.js";

const EVERY = { env: "e", stack: "s", program: "p", queue: "q", from: 1, to: 2, owner: "o" } as const;
export const FILTERS: Readonly<Record<string, RunFilter>> = {
  "of all states": { env: "e" },
  "with every condition": { ...EVERY, states: ["waiting", "running"] },
  troubled: { env: "e", states: ["failed", "dead"] },
  archived: { env: "e", archived: true },
  "with attributes": { env: "e", attributes: { region: "eu", paid: true } },
  "with a key": { env: "e", program: "p", keyPrefix: "k" },
  "of a parent": { env: "e", parent: "00000000-0000-7000-8000-000000000000" },
};

const TROUBLE: readonly RunState[] = ["failed", "dead", "quarantined"];

/** The part of the index of ended runs that holds what is asked for and few others: troubled runs, archived ones. */
function endedPart({ archived, states }: RunFilter): number | null {
  if (archived) return ENDED_PARTS.archived;
  return states?.every((state) => TROUBLE.includes(state)) ? ENDED_PARTS.trouble : null;
}

export function byEnd(filter: RunFilter, { text: conditions }: Where): string {
  const part = endedPart(filter);
  return part === null ? conditions : `${conditions} and ${endedPartOf("r")} = ${part} and r.ended_at is not null`;
}

export interface Where {
  readonly groups: string;
  /** Of a run itself. */
  readonly runs: string;
  /** Both. */
  readonly text: string;
  /** Of those of a run: the ones on its id. */
  readonly range: readonly string[];
  /** Of rows `a` of run_attributes: one for each attribute. */
  readonly attributes: readonly string[];
  readonly values: unknown[];
}

/**
 * Only the conditions that are asked for are in the text. States are literals, taken from our own list: as parameters they would
 * not match the partial indexes.
 */
export function whereOf(s: string, filter: RunFilter): Where {
  const { env, stack, program, queue, states, archived, from, to, owner, parent, keyPrefix } = filter;
  const values: unknown[] = [];
  const given = <T>(value: T | null | undefined, condition: (value: T) => string) =>
    (value ?? null) === null ? [] : [condition(value!)];
  const equal = (column: string, value: string | null | undefined) =>
    given(value, (one) => `g.${column} = $${values.push(one)}`);
  const named = states && RUN_STATES.filter((known) => states.includes(known)).map((one) => `'${one}'`);
  const groups = [equal("env", env), equal("stack", stack), equal("program", program), equal("queue", queue)]
    .flat()
    .join(" and ");
  const range = [
    ...given(from, (ms) => `r.id >= $${values.push(lowestId(ms))}::uuid`),
    ...given(to, (ms) => `r.id < $${values.push(lowestId(ms))}::uuid`),
  ];
  const attributes = Object.entries(filter.attributes ?? {}).map(
    ([name, value]) => `a.name = $${values.push(name)} and a.value = $${values.push(attributeData(value))}`,
  );
  const runs = [
    archived ? "r.archived_at is not null" : "r.archived_at is null",
    ...(named ? [named.length > 0 ? `r.state in (${named.join(", ")})` : "false"] : []),
    ...range,
    ...given(owner, (id) => `r.owner = $${values.push(id)}::uuid and r.state = 'running'`),
    ...given(parent, (id) => childOf(s, `$${values.push(id)}::uuid`)),
    ...given(keyPrefix, (prefix) => keyed(s, `$${values.push(env)}`, `$${values.push(prefix)}::text`)),
    ...attributes.map((one) => `exists (select from ${s}.run_attributes a where a.run_id = r.id and ${one})`),
  ].join(" and ");
  return { groups, runs, text: `${groups} and ${runs}`, range, attributes, values };
}

/** By the entries of the parent's journal, which is short: there is no index of runs by their parent. */
function childOf(s: string, parent: string): string {
  return `r.parent_id = ${parent} and r.id = any(array(
    select j.key::uuid from ${s}.journal j where j.run_id = ${parent} and j.kind in ('enqueue', 'task')))`;
}

/**
 * All keys are read, about 0.2 s for a million: an index of them would make each start with a key a third slower (see run-keys.ts).
 */
function keyed(s: string, env: string, prefix: string): string {
  return `r.id = any(array(select k.run_id from ${s}.run_keys k where k.env = ${env} and starts_with(k.key, ${prefix})))`;
}
