// Changes of instances as parameters of the statements. `ord` is the place of the instance in its batch, counted from 1.

import type {
  Append,
  Change,
  NewInstance,
  NewInstanceEvent,
  NewTimer,
  NewTold,
} from "../../contract/machine/machines.js";
import { bigint, type Columns, float8, int, rowset, text, uuid } from "../connection/rowset.js";
import type { Groups } from "../run/groups.js";
import { type PlacedRun, place, RUN } from "../run/insert-runs.js";

/** A part of a change, with the place of its instance. */
interface Of<Part> {
  readonly ord: number;
  readonly part: Part;
}

interface Grouped<Part> {
  readonly part: Part;
  readonly group: number;
}

/** What every change has: whose it is, and the events it adds after `base`. */
const HEAD = {
  key: uuid(({ part }) => part.key),
  claim_group: int(({ group }) => group),
  token: uuid(({ part }) => part.token),
} satisfies Columns<Grouped<Append | NewInstance>>;

export const CREATED = rowset<Grouped<NewInstance>>()({
  ...HEAD,
  base: bigint(() => 0),
  n: int(({ part }) => part.events.length),
  id: text(({ part }) => part.id),
  input_hash: text(({ part }) => part.inputHash),
  redact: text(({ part }) => JSON.stringify(part.redact)),
  status: text(({ part }) => part.status),
  version: text(({ part }) => part.version),
  value: text(({ part }) => part.value),
  codec: text(({ part }) => part.snapshot.codec),
  data: text(({ part }) => part.snapshot.data),
});

export const APPENDED = rowset<Grouped<Append>>()({
  ...HEAD,
  base: bigint(({ part }) => part.expectedSeq),
  n: int(({ part }) => part.events.length),
  status: text(({ part }) => part.status),
  version: text(({ part }) => part.version),
  value: text(({ part }) => part.value),
  codec: text(({ part }) => part.snapshot?.codec ?? null),
  data: text(({ part }) => part.snapshot?.data ?? null),
});

/** `i` is the place of the event in its change, counted from 1. */
export const EVENTS = rowset<Of<NewInstanceEvent> & { readonly i: number }>()({
  ord: int(({ ord }) => ord),
  i: int(({ i }) => i),
  kind: text(({ part }) => part.kind),
  name: text(({ part }) => part.name),
  key: text(({ part }) => part.key),
  codec: text(({ part }) => part.payload.codec),
  data: text(({ part }) => part.payload.data),
  by: text(({ part }) => part.by),
});

export const TIMERS = rowset<Of<NewTimer>>()({
  ord: int(({ ord }) => ord),
  id: uuid(({ part }) => part.id),
  generation: bigint(({ part }) => part.generation),
  kind: text(({ part }) => part.kind),
  name: text(({ part }) => part.name),
  codec: text(({ part }) => part.payload.codec),
  data: text(({ part }) => part.payload.data),
  delay_ms: float8(({ part }) => part.delayMs),
});

/** Events that are sent to other instances. */
export const SENT = rowset<Of<NewTold> & Grouped<NewTold>>()({
  ord: int(({ ord }) => ord),
  id: uuid(({ part }) => part.id),
  generation: bigint(({ part }) => part.generation),
  instance: uuid(({ part }) => part.instanceKey),
  claim_group: int(({ group }) => group),
  name: text(({ part }) => part.name),
  codec: text(({ part }) => part.payload.codec),
  data: text(({ part }) => part.payload.data),
  delay_ms: float8(({ part }) => part.delayMs),
});

export const EFFECTS = rowset<PlacedRun & { readonly ord: number }>()({ ...RUN, ord: int(({ ord }) => ord) });

/** Timers that are removed, or have to be there. No generation: whichever there is. */
export const TIMER_FENCES = rowset<Of<{ readonly id: string; readonly generation: number | null }>>()({
  ord: int(({ ord }) => ord),
  id: uuid(({ part }) => part.id),
  generation: bigint(({ part }) => part.generation),
});

/** Keys of events that may have been accepted before. */
export const EVENT_KEYS = rowset<Of<{ readonly instance: string; readonly key: string }>>()({
  ord: int(({ ord }) => ord),
  instance: uuid(({ part }) => part.instance),
  key: text(({ part }) => part.key),
});

export async function createColumns(groups: Groups, instances: readonly NewInstance[]): Promise<unknown[]> {
  return [...CREATED.arrays(await grouped(groups, instances)), ...(await changeColumns(groups, instances))];
}

export async function appendColumns(groups: Groups, appends: readonly Append[]): Promise<unknown[]> {
  return [
    ...APPENDED.arrays(await grouped(groups, appends)),
    ...(await changeColumns(groups, appends)),
    ...TIMER_FENCES.arrays(partsOf(appends, ({ fired }) => fired)),
    ...TIMER_FENCES.arrays(partsOf(appends, removedBy)),
  ];
}

/** The parameters of the query that finds which parts of these appends do not fit. */
export function unfitColumns(appends: readonly Append[]): unknown[] {
  const keys = ({ key: instance, events }: Append) =>
    events.flatMap(({ key }) => (key === null ? [] : { instance, key }));
  return [...EVENT_KEYS.arrays(partsOf(appends, keys)), ...TIMER_FENCES.arrays(partsOf(appends, ({ fired }) => fired))];
}

/** The parameters that follow those of the instances themselves. */
async function changeColumns(groups: Groups, changes: readonly Change[]): Promise<unknown[]> {
  const effects = partsOf(changes, ({ effects }) => effects);
  const runs = await place(
    groups,
    effects.map(({ part }) => part),
  );
  return [
    ...EVENTS.arrays(changes.flatMap(({ events }, c) => events.map((part, i) => ({ ord: c + 1, i: i + 1, part })))),
    ...TIMERS.arrays(partsOf(changes, ({ timers }) => timers)),
    ...(await sentColumns(
      groups,
      partsOf(changes, ({ told }) => told),
    )),
    ...EFFECTS.arrays(runs.map((run, i) => ({ ...run, ord: effects[i]!.ord }))),
  ];
}

export async function sentColumns(groups: Groups, sent: readonly Of<NewTold>[]): Promise<unknown[]> {
  const ids = await groups.ids(sent.map(({ part }) => part.group));
  return SENT.arrays(sent.map((one, i) => ({ ...one, group: ids[i]! })));
}

/** A timer that fires and is set again is replaced, not removed. */
function removedBy({ cancelled, fired, timers, told }: Append) {
  const set = new Set([...timers, ...told].map(({ id }) => id));
  const removed = new Map<string, number | null>(cancelled.map((id) => [id, null]));
  for (const { id, generation } of fired) if (!set.has(id)) removed.set(id, generation);
  return [...removed].map(([id, generation]) => ({ id, generation }));
}

async function grouped<Part extends Append | NewInstance>(
  groups: Groups,
  parts: readonly Part[],
): Promise<Grouped<Part>[]> {
  const ids = await groups.ids(parts.map(({ group }) => group));
  return parts.map((part, i) => ({ part, group: ids[i]! }));
}

function partsOf<Whole, Part>(wholes: readonly Whole[], parts: (whole: Whole) => readonly Part[]): Of<Part>[] {
  return wholes.flatMap((whole, w) => parts(whole).map((part) => ({ ord: w + 1, part })));
}
