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
  /** By path of a state with timers: the sequence at which it was entered. A timer of another sequence is stale. */
  readonly entered: Readonly<Record<string, number>>;
  /** By name of an in-memory timer: the sequence at which it was set. */
  readonly armed: Readonly<Record<string, number>>;
  /** The run that started it and waits for its end. */
  readonly parent: string | null;
}

interface Saved {
  readonly state: Snapshot & Readonly<Record<string, unknown>>;
  readonly entered?: Readonly<Record<string, number>>;
  readonly armed?: Readonly<Record<string, number>>;
  readonly parent?: string;
}

export function saveState(machine: AnyMachine, state: InstanceState, codecs: Codecs): Payload {
  const { live, entered, armed, parent } = state;
  const saved = {
    state: machine.logic.save(live),
    ...(Object.keys(entered).length > 0 && { entered }),
    ...(Object.keys(armed).length > 0 && { armed }),
    ...(parent !== null && { parent }),
  };
  return codecs.encode(saved, "state");
}

/** The state of the last snapshot. Throws InstanceQuarantined when this code does not know it. */
export function readState(machine: AnyMachine, loaded: LoadedInstance, codecs: Codecs): InstanceState {
  const { key, id, group, status, version, snapshotSeq } = loaded;
  const saved = codecs.decode(loaded.snapshot) as Saved;
  const renamed = renameAll(machine, saved);
  const live = revive(machine, migrated(machine, renamed.state, version, id), id);
  const { entered = {}, armed = {}, parent = null } = renamed;
  return { key, id, group, seq: snapshotSeq, snapshotSeq, status, version, live, entered, armed, parent };
}

function renameAll({ renamed }: AnyMachine, saved: Saved): Saved {
  if (Object.keys(renamed).length === 0) return saved;
  const entered = Object.entries(saved.entered ?? {}).map(([path, seq]) => [renamePath(renamed, path), seq]);
  const value = renameValue(renamed, saved.state.value);
  return { ...saved, state: { ...saved.state, value }, entered: Object.fromEntries(entered) };
}

function migrated(
  { migrate, version: now }: AnyMachine,
  state: Saved["state"],
  version: string | null,
  id: string,
): Saved["state"] {
  if (!migrate || version === now) return state;
  try {
    return { ...state, ...migrate({ value: state.value, context: state.context }, version) };
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
