// The actors that a machine invokes: promises run as durable effects, child machines as instances of their own.

import { type Duration, toMs } from "../kernel/duration.js";
import { InvalidInput } from "../kernel/error.js";
import { retryPolicy } from "../kernel/run/retry.js";
import {
  type ActorArguments,
  type ActorValue,
  type AnyMachine,
  actorKey,
  type EffectOptions,
  isMachine,
} from "./definition.js";
import { ActionRefused } from "./refuse-definition.js";
import { pathOf } from "./xstate/marked-machine.js";
import type { AnyStateMachine } from "./xstate/xstate.js";

type Node = AnyStateMachine["root"];

/** Options of a promise, or the machine that an invoked machine runs as. */
export type GivenActor = EffectOptions | AnyMachine;

const MACHINE_INSTEAD =
  "Make it durable with machine(name, it) and name that in `actors` of machine(): it runs as an instance of its own.";
const LOGIC_INSTEAD =
  "That would be lost with its process. Only fromPromise and machines can be invoked: do the work in a promise that returns, " +
  "or send events to this instance from outside.";

export function actorsOf(
  machine: AnyStateMachine,
  nodes: readonly Node[],
  given: Readonly<Record<string, GivenActor>>,
): ReadonlyMap<string, ActorValue> {
  const actors = new Map<string, ActorValue>();
  const unused = new Set(Object.keys(given));
  for (const node of nodes) {
    const configs = [(node.config as { invoke?: unknown }).invoke ?? []].flat() as unknown[] as readonly Config[];
    for (const [i, { id }] of node.invoke.entries()) {
      const config = configs[i]!;
      const name = typeof config.src === "string" ? config.src : id;
      unused.delete(name);
      actors.set(
        actorKey(pathOf(node), id),
        actorOf({ machine, where: `state ${node.id}`, name, config }, given[name]),
      );
    }
  }
  for (const name of unused) throw new InvalidInput(`actors.${name}`, "no state of the machine invokes it");
  return actors;
}

interface Config {
  readonly src: unknown;
  readonly onSnapshot?: unknown;
  readonly systemId?: unknown;
}

interface Invoked {
  readonly machine: AnyStateMachine;
  readonly where: string;
  readonly name: string;
  readonly config: Config;
}

function actorOf({ machine, where, name, config }: Invoked, given: GivenActor | undefined): ActorValue {
  const refuse = (problem: string, instead: string) => new ActionRefused(machine.id, problem, where, instead);
  const shown = JSON.stringify(name);
  if (config.onSnapshot !== undefined) throw refuse(`invokes ${shown} with onSnapshot`, LOGIC_INSTEAD);
  if (config.systemId !== undefined) throw refuse(`invokes ${shown} with a systemId`, LOGIC_INSTEAD);
  if (given && isMachine(given)) return { kind: "machine", name, machine: given };
  const found = typeof config.src === "string" ? machine.implementations.actors[config.src] : config.src;
  const logic = found as { readonly root?: unknown; readonly config?: unknown } | undefined;
  if (!logic) throw refuse(`invokes an actor ${shown} that is not implemented`, "Implement it in setup({ actors }).");
  if (logic.root !== undefined) throw refuse(`invokes a machine ${shown}`, MACHINE_INSTEAD);
  if (!isPromise(logic)) throw refuse(`invokes an actor ${shown} that is not a promise`, LOGIC_INSTEAD);
  const work = logic.config as (about: ActorArguments) => unknown;
  const { retry = 1, timeout, finishOnAbort = false } = given ?? {};
  return {
    kind: "promise",
    name,
    run: ({ signal, id }, { params }) =>
      work({ input: params as never, signal, self: { id }, system: undefined, emit }),
    policy: retryPolicy(retry, `actors.${name}.retry`),
    timeoutMs: timeout === undefined ? null : toMs(timeout as Duration, `actors.${name}.timeout`),
    finishOnAbort,
  };
}

/** Events of a promise reach no listener: nothing in this process is subscribed to it. */
const emit = () => {};

/** XState does not say by whom a logic was made: only that of a promise is done after this event. */
function isPromise(logic: object): boolean {
  const { transition } = logic as { readonly transition: (...rest: unknown[]) => { readonly status?: unknown } };
  try {
    const event = { type: "xstate.promise.resolve", data: null };
    return transition({ status: "active" }, event, { self: {} }).status === "done";
  } catch {
    return false;
  }
}
