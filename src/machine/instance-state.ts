// An instance in memory: its state, and when it entered the states that have timers. Read from a snapshot, written to
// one.

import type { Codecs } from "../kernel/codec/codecs.js";
import type { Payload } from "../kernel/codec/payload.js";
import type { RunGroup } from "../kernel/run/new-run.js";
import type { InstanceStatus, LoadedInstance } from "../store/contract/machine/machines.js";
import type { AnyMachine, Snapshot } from "./definition.js";
import { InstanceQuarantined } from "./errors.js";
import type { Live } from "./logic.js";
import { renamePath, renameValue } from "./rename-states.js";

export interface InstanceState {
  readonly key: string;
  readonly id: string;
  readonly group: RunGroup;
  readonly seq: number;
  readonly snapshotSeq: number;
  readonly status: InstanceStatus;
  /** The version of the code that wrote it last. */
  readonly version: string | null;
  readonly live: Live;
  /** By path of an active state: the sequence at which it was entered. A timer of another sequence is stale. */
  readonly entered: Readonly<Record<string, number>>;
  /** By path of a state that asked for effects: its last entry. An answer to an earlier one is stale. */
  readonly asked: Readonly<Record<string, number>>;
  /** The actors that its states have invoked and that have not answered, by their ids. */
  readonly invoked: Readonly<Record<string, Invoked>>;
  /** By name of an in-memory timer: the sequence at which it was set. */
  readonly armed: Readonly<Record<string, number>>;
  /** The run that started it and waits for its end. */
  readonly parent: string | null;
  /** The instance that invoked it. */
  readonly owner: InstanceAddress | null;
  /** Its timers may differ from those that the current definition gives its state. */
  readonly unarmed: boolean;
}

export interface InstanceAddress {
  readonly machine: string;
  readonly id: string;
}

/** An actor in progress: the state and entry that invoked it, its run, and its instance if it is a machine. */
export interface Invoked {
  readonly path: string;
  readonly seq: number;
  readonly run: string;
  readonly child?: InstanceAddress;
}

interface Saved {
  readonly state: Snapshot & {
    readonly historyValue?: Readonly<Record<string, readonly string[]>>;
    readonly [name: string]: unknown;
  };
  readonly entered?: Readonly<Record<string, number>>;
  readonly armed?: Readonly<Record<string, number>>;
  readonly parent?: string;
  readonly asked?: Readonly<Record<string, number>>;
  readonly invoked?: Readonly<Record<string, Invoked>>;
  readonly owner?: InstanceAddress;
  /** Of the definition that set its timers. */
  readonly shape?: string;
}

export function saveState(machine: AnyMachine, state: InstanceState, codecs: Codecs): Payload {
  const { live, entered, armed, parent, asked, invoked, owner } = state;
  const saved = {
    state: machine.logic.save(live),
    ...(Object.keys(entered).length > 0 && { entered }),
    ...(Object.keys(armed).length > 0 && { armed }),
    ...(parent !== null && { parent }),
    ...(Object.keys(asked).length > 0 && { asked }),
    ...(Object.keys(invoked).length > 0 && { invoked }),
    ...(owner !== null && { owner }),
    shape: machine.logic.shape,
  };
  return codecs.encode(saved, "state");
}

/** The state of the last snapshot. Throws InstanceQuarantined when this code does not know it. */
export function readState(machine: AnyMachine, loaded: LoadedInstance, codecs: Codecs): InstanceState {
  const { key, id, group, status, version, snapshotSeq } = loaded;
  const saved = codecs.decode(loaded.snapshot) as Saved;
  const renamed = renameAll(machine, saved);
  const state = migrated(machine, renamed.state, version, id);
  const live = revive(machine, state, id);
  const { entered = {}, armed = {}, asked = {}, invoked = {}, parent = null, owner = null } = renamed;
  const isOther = renamed.shape !== machine.logic.shape || state !== renamed.state;
  return {
    key,
    id,
    group,
    seq: snapshotSeq,
    snapshotSeq,
    status,
    version,
    live,
    entered,
    armed,
    asked,
    invoked,
    parent,
    owner,
    unarmed: isOther && status === "active" && machine.timers === "durable",
  };
}

function renameAll({ renamed }: AnyMachine, saved: Saved): Saved {
  if (Object.keys(renamed).length === 0) return saved;
  const path = (old: string) => renamePath(renamed, old);
  const history = Object.entries(saved.state.historyValue ?? {});
  const invoked = Object.entries(saved.invoked ?? {});
  return {
    ...saved,
    state: {
      ...saved.state,
      value: renameValue(renamed, saved.state.value),
      historyValue: Object.fromEntries(history.map(([of, paths]) => [path(of), paths.map(path)])),
    },
    entered: renamedKeys(saved.entered, path),
    asked: renamedKeys(saved.asked, path),
    invoked: Object.fromEntries(invoked.map(([id, actor]) => [id, { ...actor, path: path(actor.path) }])),
  };
}

function renamedKeys<T>(record: Readonly<Record<string, T>> = {}, path: (old: string) => string): Record<string, T> {
  return Object.fromEntries(Object.entries(record).map(([old, value]) => [path(old), value]));
}

function migrated(
  { migrate, version: now }: AnyMachine,
  state: Saved["state"],
  version: string | null,
  id: string,
): Saved["state"] {
  if (!migrate || version === now) return state;
  try {
    const { value, context, historyValue: history = {} } = state;
    const made = migrate({ value, context, history }, version);
    return { ...state, value: made.value, context: made.context, historyValue: made.history ?? history };
  } catch (cause) {
    throw new InstanceQuarantined(id, `migrate() threw for version ${JSON.stringify(version)}.`, { cause });
  }
}

function revive(machine: AnyMachine, state: unknown, id: string): Live {
  try {
    return machine.logic.restore(state);
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : String(cause);
    throw new InstanceQuarantined(id, `${message.replace(/\.$/, "")}.`, { cause });
  }
}
