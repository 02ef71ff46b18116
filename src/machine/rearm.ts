// Arms the timers that a deployment or a migration gave to the state in which an instance already is, and removes those of states it is
// no longer in.

import type { Codecs } from "../kernel/codec/codecs.js";
import type { TimerRecord } from "../store/contract/machine/machines.js";
import type { Store } from "../store/contract/store.js";
import type { AnyMachine } from "./definition.js";
import { type InstanceWorld, shownBranch } from "./draft.js";
import type { InstanceState } from "./instance-state.js";
import type { AfterBranch } from "./logic.js";
import { renamePath } from "./rename-states.js";
import { Steps } from "./steps.js";

/** Null: nothing had to be written. False: another process moved the instance, so it must be loaded again. */
export async function rearm(
  machine: AnyMachine,
  world: InstanceWorld,
  state: InstanceState,
  store: Store,
): Promise<InstanceState | null | false> {
  const timers = (await store.machines.timers(state.key)).filter(({ kind }) => kind === "after");
  const { missing, removed } = compare(machine, world.codecs, state, timers);
  if (missing.length === 0 && removed.length === 0) return null;
  const elapsed = machine.addedTimers === "entry" ? await sinceEntry(state, missing, store) : new Map<string, number>();
  const wanted = missing.map((branch) => {
    const delayMs = machine.logic.delayMs(state.live, branch) - (elapsed.get(branch.path) ?? 0);
    return { branch, delayMs: Math.max(delayMs, 0) };
  });
  const steps = new Steps(machine, world, state);
  const names = [...missing.map(shownBranch), ...removed.map(({ name }) => `not ${name}`)];
  const ids = removed.map(({ id }) => id);
  const [answer] = await store.machines.append([steps.arm(wanted, ids, names)]);
  return answer?.outcome === "accepted" || answer?.outcome === "recorded" ? steps.state : false;
}

function compare(machine: AnyMachine, codecs: Codecs, state: InstanceState, timers: readonly TimerRecord[]) {
  const { logic, renamed } = machine;
  const { entered, live } = state;
  const there = timers.map((timer) => {
    const branch = codecs.decode(timer.payload) as AfterBranch;
    return { timer, branch: { ...branch, path: renamePath(renamed, branch.path) } };
  });
  const active = new Set(logic.active(live));
  const isOver = ({ timer, branch }: (typeof there)[number]) =>
    !active.has(branch.path) || entered[branch.path] !== timer.generation;
  const kept = there.filter((one) => !isOver(one));
  const covered = new Set(kept.map(({ branch }) => `${branch.path} ${logic.eventOf(branch)?.type}`));
  const missing = [...active].flatMap((path) =>
    logic.branches(path).filter((branch) => !covered.has(`${path} ${logic.eventOf(branch)!.type}`)),
  );
  return { missing, removed: there.filter(isOver).map(({ timer }) => timer) };
}

/** How long the instance has been in each state, by the store's clock. A state entered by a migration begins now. */
async function sinceEntry({ key, entered }: InstanceState, branches: readonly AfterBranch[], store: Store) {
  const { now } = await store.views.runs([]);
  const elapsed = new Map<string, number>();
  for (const { path } of branches) {
    const seq = entered[path];
    if (seq === undefined || elapsed.has(path)) continue;
    const [event] = await store.machines.events(key, { after: seq - 1, limit: 1 });
    if (event?.seq === seq) elapsed.set(path, Math.max(now - event.at, 0));
  }
  return elapsed;
}
