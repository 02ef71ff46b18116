// Changes of instances as the arrays that the statements unnest. `ord` counts the instances of the batch from 1.

import type { Append, Change, NewInstance, NewTold } from "../../contract/machine/machines.js";
import type { Groups } from "../run/groups.js";
import { columnsOf, RUN } from "../run/insert-runs.js";

export const EVENT = ["int", "int", "text", "text", "text", "text", "text", "text"];
export const EVENT_COLUMNS = "ord, i, kind, name, key, codec, data, by";
export const TIMER = ["int", "uuid", "bigint", "text", "text", "text", "text", "float8"];
export const TIMER_COLUMNS = "ord, id, generation, kind, name, codec, data, delay_ms";
export const TOLD = ["int", "uuid", "bigint", "uuid", "int", "text", "text", "text", "float8"];
export const TOLD_COLUMNS = "ord, id, generation, instance, claim_group, name, codec, data, delay_ms";
export const EFFECT = [...RUN, "int"];
/** What every change has, in this order. */
export const CHANGE_PARAMETERS = EVENT.length + TIMER.length + TOLD.length + EFFECT.length;

/** Key, group, token, base, count: the first five arrays of every statement. */
export async function headColumns(
  groups: Groups,
  changes: readonly (Append | NewInstance)[],
  baseOf: (change: Append | NewInstance) => number,
): Promise<unknown[][]> {
  return [
    changes.map(({ key }) => key),
    await groups.ids(changes.map(({ group }) => group)),
    changes.map(({ token }) => token),
    changes.map(baseOf),
    changes.map(({ events }) => events.length),
  ];
}

export async function changeColumns(groups: Groups, changes: readonly Change[]): Promise<unknown[][]> {
  return [
    ...eventColumns(changes),
    ...timerColumns(changes),
    ...(await toldColumns(
      groups,
      changes.flatMap(({ told }) => told),
      changes.flatMap(({ told }, c) => told.map(() => c + 1)),
    )),
    ...(await effectColumns(groups, changes)),
  ];
}

function eventColumns(changes: readonly Change[]): unknown[][] {
  return transposed(
    EVENT.length,
    changes.flatMap(({ events }, c) =>
      events.map(({ kind, name, key, payload, by }, i) => [
        ...[c + 1, i + 1, kind, name, key, payload.codec, payload.data, by],
      ]),
    ),
  );
}

function timerColumns(changes: readonly Change[]): unknown[][] {
  return transposed(
    TIMER.length,
    changes.flatMap(({ timers }, c) =>
      timers.map(({ id, generation, kind, name, payload, delayMs }) => [
        ...[c + 1, id, generation, kind, name, payload.codec, payload.data, delayMs],
      ]),
    ),
  );
}

export async function toldColumns(
  groups: Groups,
  told: readonly NewTold[],
  ords: readonly number[],
): Promise<unknown[][]> {
  const ids = await groups.ids(told.map(({ group }) => group));
  return transposed(
    TOLD.length,
    told.map(({ id, generation, instanceKey, name, payload, delayMs }, i) => [
      ...[ords[i], id, generation, instanceKey, ids[i], name, payload.codec, payload.data, delayMs],
    ]),
  );
}

async function effectColumns(groups: Groups, changes: readonly Change[]): Promise<unknown[][]> {
  const runs = changes.flatMap(({ effects }) => effects);
  const ids = await groups.ids(runs.map(({ group }) => group));
  const places = new Map(runs.map((run, i) => [run, { group: ids[i]!, position: i }]));
  return [...columnsOf(runs, places), changes.flatMap(({ effects }, c) => effects.map(() => c + 1))];
}

/** Rows as columns; so many columns also when there is no row. */
export function transposed(width: number, rows: readonly (readonly unknown[])[]): unknown[][] {
  return Array.from({ length: width }, (_, k) => rows.map((row) => row[k]));
}
