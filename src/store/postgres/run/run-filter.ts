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
  "failed, with attributes": { env: "e", program: "p", states: ["failed"], attributes: { region: "eu", paid: true } },
  "with a key": { env: "e", program: "p", keyPrefix: "k" },
  deferred: { env: "e", deferred: true },
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
  /** Of a run itself, but for its attributes. */
  readonly own: string;
  /** Of a run itself, all of them or all but one of the attributes. */
  readonly runs: (withoutAttribute?: number) => string;
  /** Both. */
  readonly text: string;
  /** Of those of a run: the ones on its id, which is in this column. */
  readonly range: (id: string) => readonly string[];
  /** Of rows `a` of run_attributes: one for each attribute. */
  readonly attributes: readonly string[];
  readonly values: unknown[];
}

/**
 * Only the conditions that are asked for are in the text. States are literals, taken from our own list: as parameters they would
 * not match the partial indexes.
 */
export function whereOf(s: string, filter: RunFilter): Where {
  const { env, stack, program, queue, states, archived, from, to, owner, parent, keyPrefix, deferred } = filter;
  const values: unknown[] = [];
  const given = <T>(value: T | null | undefined, condition: (value: T) => string) =>
    (value ?? null) === null ? [] : [condition(value!)];
  const equal = (column: string, value: string | null | undefined) =>
    given(value, (one) => `g.${column} = $${values.push(one)}`);
  const named = states && RUN_STATES.filter((known) => states.includes(known)).map((one) => `'${one}'`);
  const groups = [equal("env", env), equal("stack", stack), equal("program", program), equal("queue", queue)]
    .flat()
    .join(" and ");
  const bounds = [
    ...given(from, (ms) => `>= $${values.push(lowestId(ms))}::uuid`),
    ...given(to, (ms) => `< $${values.push(lowestId(ms))}::uuid`),
  ];
  const range = (id: string) => bounds.map((bound) => `${id} ${bound}`);
  const attributes = Object.entries(filter.attributes ?? {}).map(
    ([name, value]) => `a.name = $${values.push(name)} and a.value = $${values.push(attributeData(value))}`,
  );
  const own = [
    archived ? "r.archived_at is not null" : "r.archived_at is null",
    ...(named ? [named.length > 0 ? `r.state in (${named.join(", ")})` : "false"] : []),
    ...range("r.id"),
    ...given(owner, (id) => `r.owner = $${values.push(id)}::uuid and r.state = 'running'`),
    ...given(parent, (id) => childOf(s, `$${values.push(id)}::uuid`)),
    ...given(keyPrefix, (prefix) => keyed(s, env, prefix, (value) => `$${values.push(value)}`)),
    ...given(deferred, () => `r.id = any(array(select f.run_id from ${s}.deferred_runs f))`),
  ];
  const has = (one: string) => `exists (select from ${s}.run_attributes a where a.run_id = r.id and ${one})`;
  const text = [groups, ...own, ...attributes.map(has)].join(" and ");
  // Looked up for each run: what OFFSET does not hold back is joined, from whichever side the planner likes.
  const lookUp = (one: string) => has(`${one} offset 0`);
  const runs = (without?: number) =>
    [...own, ...attributes.filter((_, nth) => nth !== without).map(lookUp)].join(" and ");
  return { groups, own: own.join(" and "), runs, text, range, attributes, values };
}

/** By the entries of the parent's journal, which is short: there is no index of runs by their parent. */
function childOf(s: string, parent: string): string {
  return `r.parent_id = ${parent} and r.id = any(array(
    select j.key::uuid from ${s}.journal j where j.run_id = ${parent} and j.kind in ('enqueue', 'task')))`;
}

/**
 * A range of the index of keys. It ends with the successor of the prefix's last ASCII character: one of another character need not
 * exist in the database's encoding.
 */
function keyed(s: string, env: string, prefix: string, parameter: (value: string) => string): string {
  const [head] = /^.*[\x20-\x7d]/su.exec(prefix) ?? [];
  const conditions = [`k.env = ${parameter(env)}`, `k.key collate "C" >= ${parameter(prefix)}::text`];
  if (head) {
    const end = head.slice(0, -1) + String.fromCharCode(head.charCodeAt(head.length - 1) + 1);
    conditions.push(`k.key collate "C" < ${parameter(end)}::text`);
  }
  conditions.push(`starts_with(k.key, ${parameter(prefix)}::text)`);
  return `r.id = any(array(select k.run_id from ${s}.run_keys k where ${conditions.join(" and ")}))`;
}
