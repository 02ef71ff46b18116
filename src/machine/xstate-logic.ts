// An XState machine as pure steps. XState's own `transition()` creates an actor for each call, and with it the initial
// state, running the user's context function (209 µs); here one inert actor serves for all (see ARCHITECTURE.md for the
// figures).

import type { AfterBranch, Chart, ChartTransition, Logic, MachineEvent, Order, Step, View } from "./logic.js";
import { ActionRefused } from "./refuse-definition.js";
import { type AnyMachineSnapshot, type AnyStateMachine, createActor, createMachine } from "./xstate.js";

type Node = AnyStateMachine["root"];
type Scope = Parameters<AnyStateMachine["transition"]>[2];

/** An action as XState passes it to its executor. */
interface Executable {
  readonly type: string;
  readonly params: unknown;
  readonly info: { readonly context: unknown; readonly event: MachineEvent };
  readonly exec: unknown;
}

interface Sending {
  readonly event: MachineEvent;
  readonly id?: string;
  readonly delay?: number;
  readonly to?: unknown;
}

/** Another instance, as a target of XState's `sendTo`. */
export interface Target {
  readonly "~instance": { readonly machine: string; readonly id: string };
}

/** Never started, only referenced. */
const inert = createActor(createMachine({}));

export function xstateLogic(machine: AnyStateMachine, effects: readonly string[]): Logic {
  const branches = branchesOf(machine.root);
  const orderOf = orderReader(machine, branches, new Set(effects));

  function step(run: (scope: Scope) => AnyMachineSnapshot): Step {
    const actions: Executable[] = [];
    const scope = { ...INERT_SCOPE, actionExecutor: (action: Executable) => actions.push(action) };
    const live = run(scope as unknown as Scope);
    if (live.status === "error") throw live.error;
    if (Object.keys(live.children).length > 0) throw new ActionRefused(machine.id, "spawns an actor in assign()");
    return { live, orders: actions.flatMap(orderOf) };
  }

  return {
    begin: (input) => step((scope) => machine.getInitialSnapshot(scope, input) as AnyMachineSnapshot),
    next: (live, event) => {
      const snapshot = live as AnyMachineSnapshot;
      if (!snapshot.can(event)) return null;
      return step((scope) => machine.transition(snapshot, event, scope) as AnyMachineSnapshot);
    },
    eventOf: (branch) => findBranch(branches.get(branch.path) ?? [], branch),
    save: (live) => machine.getPersistedSnapshot(live as AnyMachineSnapshot),
    restore: (saved) => machine.restoreSnapshot(saved as never, INERT_SCOPE as never),
    view: (live): View => {
      const { value, context, status, output, tags } = live as AnyMachineSnapshot;
      return { value, context, status, output, tags: [...tags] };
    },
    chart: chartOf(machine.root),
    effects,
  };
}

/** Reads what XState would execute as orders: what is to be stored, sent or scheduled with the step. */
function orderReader(
  machine: AnyStateMachine,
  branches: ReturnType<typeof branchesOf>,
  known: ReadonlySet<string>,
): (action: Executable) => Order[] {
  const byType = new Map([...branches.values()].flat().map((one) => [one.type, one.branch]));

  function orderOf(action: Executable): Order[] {
    const { type, params, info, exec } = action;
    switch (type) {
      case "xstate.raise":
        return raised(params as Sending);
      case "xstate.cancel":
        return [cancelled((params as { sendId: string }).sendId)];
      case "xstate.sendTo":
        return sent(params as Sending);
      case "xstate.emit":
        return [{ kind: "emit", event: (params as Sending).event }];
      case "xstate.log": {
        const { label, value } = params as { label?: string; value: unknown };
        return [{ kind: "log", label: label ?? null, value }];
      }
    }
    if (type.startsWith("xstate.")) throw new ActionRefused(machine.id, `uses ${type}`);
    const isNamed = known.has(type) && (exec === undefined || exec === machine.implementations.actions[type]);
    if (!isNamed) throw new ActionRefused(machine.id, `runs an inline action ${JSON.stringify(type)}`);
    return [{ kind: "effect", name: type, params, context: info.context, event: info.event }];
  }

  /** Without a delay, XState has already processed the event. */
  function raised({ event, id, delay }: Sending): Order[] {
    if (delay === undefined) return [];
    const branch = id === undefined ? undefined : byType.get(id);
    if (branch) return [{ kind: "after", branch, delayMs: Math.max(delay, 0) }];
    return [{ kind: "raise", id: id ?? null, event, delayMs: Math.max(delay, 0) }];
  }

  function cancelled(id: string): Order {
    const branch = byType.get(id);
    return branch ? { kind: "left", path: branch.path, delay: branch.delay } : { kind: "cancel", id };
  }

  function sent({ event, id, delay, to }: Sending): Order[] {
    const target = (to as Target | undefined)?.["~instance"];
    if (target) return [{ kind: "send", ...target, event, delayMs: Math.max(delay ?? 0, 0), sendId: id ?? null }];
    if (to !== inert) throw new ActionRefused(machine.id, "sends to an actor of its own");
    if (delay === undefined) return [{ kind: "toSelf", event }];
    return [{ kind: "raise", id: id ?? null, event, delayMs: Math.max(delay, 0) }];
  }

  return orderOf;
}

const INERT_SCOPE = {
  self: inert,
  system: inert.system,
  id: "",
  sessionId: "",
  logger: () => {},
  defer: () => {},
  emit: () => {},
  stopChild: () => {},
  actionExecutor: () => {},
};

interface KnownBranch {
  readonly type: string;
  readonly branch: AfterBranch;
}

function branchesOf(root: Node): Map<string, KnownBranch[]> {
  const found = new Map<string, KnownBranch[]>();
  for (const node of nodesOf(root)) {
    const delays = Object.keys((node.config as { after?: object }).after ?? {});
    if (delays.length === 0) continue;
    const path = pathOf(node);
    const branches = delays.map((delay) => {
      const type = `xstate.after.${delay}.${node.id}`;
      const to = targetsOf(node.after.filter(({ eventType }) => eventType === type));
      return { type, branch: { path, delay, to, of: delays.length } };
    });
    found.set(path, branches);
  }
  return found;
}

/** The branch with the same delay; or the only one with the same target; or the only one there was and is. */
function findBranch(now: readonly KnownBranch[], { delay, to, of }: AfterBranch): MachineEvent | null {
  const aims = now.filter(({ branch }) => JSON.stringify(branch.to) === JSON.stringify(to));
  const same = now.find(({ branch }) => branch.delay === delay) ?? (aims.length === 1 ? aims[0] : undefined);
  const found = same ?? (of === 1 && now.length === 1 ? now[0] : undefined);
  return found ? { type: found.type } : null;
}

export function nodesOf(node: Node): Node[] {
  return [node, ...Object.values(node.states).flatMap((child) => nodesOf(child as Node))];
}

function pathOf(node: { readonly path: readonly string[] }): string {
  return node.path.join(".");
}

interface Transition {
  readonly eventType: string;
  readonly target?: readonly { readonly path: readonly string[] }[] | undefined;
  readonly guard?: unknown;
  readonly delay?: unknown;
}

function targetsOf(transitions: readonly Transition[]): string[] {
  return transitions.flatMap(({ target }) => (target ?? []).map(pathOf));
}

function chartOf(node: Node): Chart {
  const all = [...node.transitions.values()].flat() as Transition[];
  const always = (node.always ?? []) as Transition[];
  const initial = node.type === "compound" ? node.initial.target?.[0] : undefined;
  return {
    path: pathOf(node),
    key: node.key,
    type: node.type,
    initial: initial ? pathOf(initial) : null,
    states: Object.values(node.states).map((child) => chartOf(child as Node)),
    transitions: [...all.map(transitionOf), ...always.map((one) => ({ ...transitionOf(one), event: null }))],
  };
}

function transitionOf({ eventType, target, guard, delay }: Transition): ChartTransition {
  return {
    event: delay === undefined ? eventType : null,
    delay: delay === undefined ? null : String(delay),
    guard: nameOf(guard),
    to: (target ?? []).map(pathOf),
  };
}

function nameOf(guard: unknown): string | null {
  if (guard === undefined || guard === null) return null;
  if (typeof guard === "string") return guard;
  const { type, name } = guard as { readonly type?: string; readonly name?: string };
  return type ?? (name || "guard");
}
