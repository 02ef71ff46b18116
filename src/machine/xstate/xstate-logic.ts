// An XState machine as pure steps. XState's own `transition()` creates an actor for each call, and with it the initial
// state, running the user's context function (209 µs); here one inert actor serves for all (see ARCHITECTURE.md for the
// figures).

import { createHash } from "node:crypto";
import { InvalidInput } from "../../kernel/error.js";
import type { AfterBranch, Logic, MachineEvent, Step, View } from "../logic.js";
import { ActionRefused, SPAWN_INSTEAD } from "../refuse-definition.js";
import { chartOf, targetsOf } from "./chart.js";
import { marked, nodesOf, pathOf } from "./marked-machine.js";
import { type Executable, readOrders, type Target } from "./read-orders.js";
import { type AnyMachineSnapshot, type AnyStateMachine, createActor, createMachine, matchesState } from "./xstate.js";

type Node = AnyStateMachine["root"];
type Scope = Parameters<AnyStateMachine["transition"]>[2];

/** Never started, only referenced. */
const inert = createActor(createMachine({}));
/** What XState takes for the machine itself; the target of `sendParent` is the instance that invoked it. */
const self: object = Object.create(inert, {
  _parent: { value: { "~instance": { parent: true } } satisfies Target },
});

const INERT_SCOPE = {
  self,
  system: inert.system,
  id: "",
  sessionId: "",
  logger: () => {},
  defer: () => {},
  emit: () => {},
  stopChild: () => {},
  actionExecutor: () => {},
};

export function xstateLogic(definition: AnyStateMachine, effects: readonly string[]): Logic {
  const branches = branchesOf(definition.root);
  const children = childrenOf(definition.root);
  const machine = marked(definition, children);
  const byType = new Map([...branches.values()].flat().map((one) => [one.type, one.branch]));
  const options = { machine, branches: byType, effects: new Set(effects), self };

  function step(before: AnyMachineSnapshot | null, run: (scope: Scope) => AnyMachineSnapshot): Step | null {
    const actions: Executable[] = [];
    const scope = { ...INERT_SCOPE, actionExecutor: (action: Executable) => actions.push(action) };
    const live = run(scope as unknown as Scope);
    if (live.status === "error" && before === null) throw live.error;
    refuseActors(machine, children, before, live);
    const { orders, taken } = readOrders(actions, options);
    return before === null || taken || live.status !== before.status ? { live, orders } : null;
  }

  return {
    begin: (input) => step(null, (scope) => machine.getInitialSnapshot(scope, input) as AnyMachineSnapshot)!,
    next: (live, event) => {
      const before = live as AnyMachineSnapshot;
      return step(before, (scope) => machine.transition(before, event, scope) as AnyMachineSnapshot);
    },
    can: (live, event) => (live as AnyMachineSnapshot).can(event),
    meta: (live) => (live as AnyMachineSnapshot).getMeta(),
    matches: (live, value) => matchesState(value as never, (live as AnyMachineSnapshot).value),
    active: (live) => (live as unknown as { readonly _nodes: Node[] })._nodes.map(pathOf),
    branches: (path) => (branches.get(path) ?? []).map(({ branch }) => branch),
    delayMs: (live, branch) => delayOf(machine, live as AnyMachineSnapshot, branch),
    shape: shapeOf(branches),
    fail: (live, error) => ({ ...(live as AnyMachineSnapshot), status: "error", error }),
    eventOf: (branch) => findBranch(branches.get(branch.path) ?? [], branch),
    save: (live) => save(machine, live as AnyMachineSnapshot),
    restore: (saved) => restore(machine, saved as Saved, children),
    view: (live): View => {
      const { value, context, status, output, error, tags } = live as AnyMachineSnapshot;
      return { value, context, status, output, error, tags: [...tags] };
    },
    chart: chartOf(definition.root),
    effects,
  };
}

/** An actor in the context would be lost with its process. */
function refuseActors(
  machine: AnyStateMachine,
  children: object,
  before: AnyMachineSnapshot | null,
  live: AnyMachineSnapshot,
): void {
  if (Object.keys(live.children).some((id) => !Object.hasOwn(children, id)))
    throw new ActionRefused(machine.id, "spawns an actor in assign()", undefined, SPAWN_INSTEAD);
  if (live.context === before?.context) return;
  if (holdsActor(live.context, 0)) throw new ActionRefused(machine.id, "stores an actor, as `self`, in its context");
}

/** Deeper values are refused when they are stored. */
const DEEPEST = 100;

/** As XState itself finds the actors in a context that it persists, without the copy that it makes: 3 of 38 µs per event. */
function holdsActor(part: object, depth: number): boolean {
  for (const key in part) {
    const value: unknown = part[key as keyof typeof part];
    if (!value || typeof value !== "object") continue;
    if ("sessionId" in value && "send" in value && "ref" in value) return true;
    if (depth < DEEPEST && holdsActor(value, depth + 1)) return true;
  }
  return false;
}

interface Saved {
  readonly value: unknown;
  readonly historyValue?: Readonly<Record<string, readonly string[]>>;
}

/** Remembered states are saved as paths: ids change with the id of the machine. */
function save(machine: AnyStateMachine, live: AnyMachineSnapshot): unknown {
  const saved = machine.getPersistedSnapshot({ ...live, children: {} }) as unknown as Saved;
  const history = Object.entries(live.historyValue as Readonly<Record<string, readonly Node[]>>);
  const pathById = (id: string) => pathOf(machine.getStateNodeById(id));
  return {
    ...saved,
    historyValue: Object.fromEntries(history.map(([id, nodes]) => [pathById(id), nodes.map(pathOf)])),
  };
}

function restore(machine: AnyStateMachine, saved: Saved, children: object): unknown {
  const at = (path: string) => {
    const keys = path === "" ? [] : path.split(".");
    return keys.reduce((node, key) => {
      const inner = Object.hasOwn(node.states, key) ? node.states[key] : undefined;
      if (!inner) throw new InvalidInput("history", `it remembers ${JSON.stringify(path)}, which is not a state`);
      return inner as Node;
    }, machine.root);
  };
  const history = Object.entries(saved.historyValue ?? {}).map(([path, nodes]) => [at(path).id, nodes.map(at)]);
  const restored = machine.restoreSnapshot(
    { ...saved, children: {}, historyValue: Object.fromEntries(history) } as never,
    INERT_SCOPE as never,
  );
  return { ...restored, children: { ...children } };
}

/** Every actor that the machine invokes, by its id: a target of `sendTo`, whether or not it is running. */
function childrenOf(root: Node): Readonly<Record<string, Target & { readonly id: string }>> {
  const ids = nodesOf(root).flatMap((node) => node.invoke.map(({ id }) => id));
  return Object.fromEntries(ids.map((id) => [id, { id, "~instance": { child: id } }]));
}

function delayOf({ implementations }: AnyStateMachine, live: AnyMachineSnapshot, { delay }: AfterBranch): number {
  const given: unknown = Number.isNaN(Number(delay)) ? implementations.delays[delay] : Number(delay);
  const event = { type: "xstate.init" };
  const ms = typeof given === "function" ? given({ context: live.context, event, self }, undefined) : given;
  return Math.max(Number(ms), 0);
}

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

function shapeOf(branches: ReadonlyMap<string, readonly KnownBranch[]>): string {
  const all = [...branches.values()].flat().map(({ branch }) => branch);
  return createHash("sha256").update(JSON.stringify(all)).digest("hex").slice(0, 8);
}

/** The branch with the same delay; or the only one with the same target; or the only one there was and is. */
function findBranch(now: readonly KnownBranch[], { delay, to, of }: AfterBranch): MachineEvent | null {
  const aims = now.filter(({ branch }) => JSON.stringify(branch.to) === JSON.stringify(to));
  const same = now.find(({ branch }) => branch.delay === delay) ?? (aims.length === 1 ? aims[0] : undefined);
  const found = same ?? (of === 1 && now.length === 1 ? now[0] : undefined);
  return found ? { type: found.type } : null;
}
