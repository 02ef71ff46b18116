// The machine instances of a node or a client: start, send, read. It never claims timers.

import type { ClientParts } from "../engine/node-parts.js";
import type { NodeWakeups } from "../engine/node-wakeups.js";
import { sharedBy, Watcher } from "../engine/watcher.js";
import { payloadHash } from "../kernel/codec/canonical.js";
import type { Codecs } from "../kernel/codec/codecs.js";
import { InvalidInput } from "../kernel/error.js";
import { lane } from "../kernel/lane.js";
import { dedupeKey } from "../kernel/name.js";
import { checkNames, type Names } from "../kernel/setting/option-names.js";
import { Wakeups } from "../kernel/wakeups.js";
import { sleep, type World } from "../kernel/world.js";
import { parseInput } from "../program/parse-input.js";
import type { InstanceEvent, LoadedInstance, NewInstance } from "../store/contract/machine/machines.js";
import type { Store } from "../store/contract/store.js";
import type { Transaction } from "../store/contract/transaction.js";
import type { Telemetry } from "../telemetry/bus.js";
import type { AnyMachine } from "./definition.js";
import { type Draft, type InstanceWorld, type LocalTimer, timerGroup } from "./draft.js";
import { InstanceBusy, InstanceConflict, InstanceQuarantined, InstanceUnknown } from "./errors.js";
import { instanceKey } from "./instance-key.js";
import { type InstanceAddress, type InstanceState, readState } from "./instance-state.js";
import type { Live } from "./logic.js";
import type { MachineEvents } from "./machine-events.js";
import { type Delivered, Mailbox } from "./mailbox.js";
import { rearm } from "./rearm.js";
import { redact } from "./redact.js";
import { replayTail } from "./replay-tail.js";
import { StateCache } from "./state-cache.js";
import { type Incoming, Steps } from "./steps.js";

interface InstancesOptions extends ClientParts {
  readonly crashLimit: number;
  readonly bus?: Telemetry<MachineEvents>;
  /** Woken when effects were enqueued and when a timer was set. */
  readonly wakeups?: NodeWakeups;
}

export interface StartInstance {
  readonly id?: string;
  readonly tx?: Transaction;
  /** The run that waits for its end. */
  readonly parent?: string;
  /** The instance that invoked it. */
  readonly owner?: InstanceAddress;
}

/** An instance as it was read, and its state. */
export interface Found {
  readonly state: InstanceState;
  readonly loaded: LoadedInstance;
}

type StartedBy = { readonly parent?: string | null; readonly owner?: InstanceAddress | null };

const START_OPTIONS: Names<StartInstance> = { id: true, tx: true, parent: true, owner: true };

/** A misspelt id would start another instance. */
function expectKnownOptions(options: object): void {
  const problems = new Map<string, string>();
  checkNames(options, START_OPTIONS, problems);
  for (const name of problems.keys())
    throw new InvalidInput(name, "is not an option of a machine's start; the options are id and tx");
}

const LEASE_MS = 10_000;
const LONGEST_WAIT_MS = 10_000;
const LEASE_PAUSE_MS = 20;
const LOAD = { maxRows: 500, maxBytes: 1_000_000, sizeOf: () => ({ rows: 1, bytes: 36 }) };

export class Instances {
  readonly env: string;
  readonly stack: string | null;
  readonly store: Store;
  readonly codecs: Codecs;
  readonly world: World;
  readonly wakeups: NodeWakeups;
  readonly #bus: Telemetry<MachineEvents>;
  readonly #place: InstanceWorld;
  readonly #cache = new StateCache();
  readonly #boxes = new Map<string, Mailbox>();
  readonly #load: (key: string) => Promise<LoadedInstance | null>;
  readonly #cancels = new Set<() => void>();

  constructor(options: InstancesOptions) {
    const { store, codecs, world, env, stack, crashLimit } = options;
    this.store = store;
    this.codecs = codecs;
    this.world = world;
    this.env = env;
    this.stack = stack;
    this.wakeups = options.wakeups ?? new Wakeups();
    this.#bus = options.bus ?? { emit: () => {} };
    const place = { codecs, env, stack, crashLimit };
    this.#place = { ...place, newId: () => world.id(), newToken: () => world.token() };
    this.#load = lane((keys: readonly string[]) => store.machines.load(keys), { ...LOAD, world });
  }

  keyOf(machine: string, id: string): string {
    return instanceKey(this.env, machine, dedupeKey(id, "id"));
  }

  /** Returns the id. The same id and input return the existing instance. */
  async start(machine: AnyMachine, input: unknown, options: StartInstance): Promise<string> {
    return this.startParsed(machine, await parseInput(machine, input), options);
  }

  /** The input has been parsed by the machine's schema. */
  async startParsed(machine: AnyMachine, input: unknown, options: StartInstance): Promise<string> {
    const { id, tx } = options;
    expectKnownOptions(options);
    const name = id ?? this.world.id();
    const { instance, draft } = this.#newInstance(machine, input, name, options);
    const [answer] = await this.store.machines.create([instance], tx ? { tx } : {});
    if (answer!.outcome === "refused") throw answer!.error;
    if (answer!.outcome === "conflict") throw new InstanceConflict(machine.name, name);
    if (answer!.outcome === "created" && !tx) {
      this.#cache.set(draft.state, instance.snapshot.data.length);
      const { value } = machine.logic.view(draft.state.live);
      this.#bus.emit("instance.started", { machine: machine.name, id: name, value });
      this.#afterwards(machine, draft);
    }
    return name;
  }

  /** Applied in this process, in order with everything else it sends to that instance. */
  deliver(machine: AnyMachine, id: string, incoming: Incoming): Promise<Delivered> {
    const key = this.keyOf(machine.name, id);
    const box = this.#boxes.get(key) ?? this.#newBox(machine, key, id);
    this.#boxes.set(key, box);
    return box.add(incoming, () => this.#boxes.delete(key));
  }

  /** Caches an instance that was read together with its timers. Throws InstanceQuarantined. */
  async offer(machine: AnyMachine, loaded: LoadedInstance): Promise<void> {
    if ((this.#cache.get(loaded.key)?.seq ?? 0) >= loaded.seq) return;
    this.#cache.offer(await this.#read(machine, loaded), loaded.snapshot.data.length);
  }

  async state(machine: AnyMachine, id: string): Promise<Found> {
    const loaded = await this.#load(this.keyOf(machine.name, id));
    if (!loaded) throw new InstanceUnknown(machine.name, id);
    return this.stateOf(machine, loaded);
  }

  async stateOf(machine: AnyMachine, loaded: LoadedInstance): Promise<Found> {
    const known = this.#cache.get(loaded.key);
    const state = known?.seq === loaded.seq ? known : await this.#read(machine, loaded);
    this.#cache.offer(state, loaded.snapshot.data.length);
    return { state, loaded };
  }

  /** The answer of an effect or an actor came too late for the entry of the state that asked for it. */
  reportStale({ name }: AnyMachine, id: string, by: string): void {
    this.#bus.emit("effect.stale", { machine: name, id, effect: by });
  }

  /** Drops in-memory timers, because the process ends. */
  stop(): void {
    for (const cancel of this.#cancels) cancel();
    this.#cancels.clear();
  }

  #newInstance(machine: AnyMachine, input: unknown, id: string, { parent = null, owner = null }: StartedBy) {
    const key = this.keyOf(machine.name, id);
    const group = timerGroup(this.env, this.stack, machine.name);
    const nowhere: Live = null;
    const steps = new Steps(machine, this.#place, {
      key,
      id,
      group,
      parent,
      owner,
      live: nowhere,
      seq: 0,
      snapshotSeq: Number.NEGATIVE_INFINITY,
      status: "active",
      version: machine.version,
      entered: {},
      armed: {},
      asked: {},
      invoked: {},
      unarmed: false,
    });
    steps.begin(input);
    const { draft } = steps;
    const change = draft.change();
    const inputHash = payloadHash(input, "input");
    const instance: NewInstance = {
      key,
      id,
      group,
      inputHash,
      redact: machine.redact,
      ...change,
      snapshot: change.snapshot!,
    };
    return { instance, draft };
  }

  #newBox(machine: AnyMachine, key: string, id: string): Mailbox {
    const { store, world } = this;
    return new Mailbox({
      machine,
      key,
      id,
      world,
      store: store.machines,
      place: this.#place,
      cache: this.#cache,
      load: async () => (await this.state(machine, id)).state,
      alone: (work) => (machine.locking === "lease" ? this.#underLease(key, id, work) : work()),
      onWritten: (draft) => this.#written(machine, draft),
      onConflict: (expected, actual) =>
        this.#bus.emit("instance.conflict", { machine: machine.name, id, expected, actual }),
    });
  }

  async #read(machine: AnyMachine, loaded: LoadedInstance): Promise<InstanceState> {
    const { key, id, seq, snapshotSeq } = loaded;
    try {
      const state = { ...readState(machine, loaded, this.codecs), status: loaded.status };
      if (snapshotSeq === seq) return this.#armed(machine, state);
      const tail = await this.#tail(key, snapshotSeq, seq);
      return this.#armed(machine, replayTail(machine, this.#place, state, { loaded, events: tail }));
    } catch (error) {
      if (!(error instanceof InstanceQuarantined)) throw error;
      this.#bus.emit("instance.quarantined", { machine: machine.name, id, problem: error.message });
      await this.store.machines.note(key, seq, error.message);
      throw error;
    }
  }

  /** The first look after a deployment arms what the new definition adds to the state. A lost race leaves it to the winner. */
  async #armed(machine: AnyMachine, state: InstanceState): Promise<InstanceState> {
    if (!state.unarmed) return state;
    const armed = await rearm(machine, this.#place, state, this.store);
    if (!armed) return armed === null ? { ...state, unarmed: false } : state;
    this.wakeups.wake("timers", 0);
    return armed;
  }

  async #tail(key: string, after: number, until: number): Promise<InstanceEvent[]> {
    const events = await this.store.machines.events(key, { after, limit: until - after });
    return events.filter(({ seq }) => seq <= until);
  }

  async #underLease<T>(key: string, id: string, work: () => Promise<T>): Promise<T> {
    const { world, env } = this;
    const { leases } = this.store;
    const token = world.token();
    const request = { env, key: `instance:${key}`, owner: `instances`, token, leaseMs: LEASE_MS };
    const startedAt = world.monotonicNow();
    for (;;) {
      const answer = await leases.acquire(request);
      if (answer.outcome !== "busy") {
        try {
          return await work();
        } finally {
          await leases.release({ env, key: request.key, epoch: answer.lease.epoch, token });
        }
      }
      const waitedMs = world.monotonicNow() - startedAt;
      if (waitedMs > LONGEST_WAIT_MS) throw new InstanceBusy(id, waitedMs);
      await sleep(world, Math.min(LEASE_PAUSE_MS * (0.5 + world.random()), Math.max(answer.leftMs, 1)));
    }
  }

  #written(machine: AnyMachine, draft: Draft): void {
    const { id, seq, status, live } = draft.state;
    const of = { machine: machine.name, id, seq };
    const { value } = machine.logic.view(live);
    instanceWatcher(this.store, this.world).wake(draft.state.key);
    this.#bus.emit("instance.moved", { ...of, events: draft.kept.events.map(({ name }) => name), value });
    if (status !== "active") this.#bus.emit("instance.ended", { ...of, status, error: machine.logic.view(live).error });
    this.#afterwards(machine, draft);
  }

  #afterwards(machine: AnyMachine, { kept, state }: Draft): void {
    const of = { machine: machine.name, id: state.id };
    for (const order of kept.published) {
      if (order.kind === "emit") {
        this.#bus.emit("machine.emitted", { ...of, event: redact(order.event, "event", machine.redact) });
      } else {
        this.#bus.emit("machine.logged", {
          ...of,
          label: order.label,
          value: redact(order.value, "context", machine.redact),
        });
      }
    }
    if (kept.effects.length > 0) this.wakeups.wake("runs");
    for (const { delayMs } of [...kept.timers.values(), ...kept.sent.values()]) this.wakeups.wake("timers", delayMs);
    for (const timer of kept.local) this.#arm(machine, state.id, timer);
  }

  #arm(machine: AnyMachine, id: string, { delayMs, payload }: LocalTimer): void {
    const cancel = this.world.after(delayMs, () => {
      this.#cancels.delete(cancel);
      const of = { machine: machine.name, id };
      this.deliver(machine, id, { ...payload, timer: null }).catch((error: unknown) =>
        this.#bus.emit("timer.failed", { ...of, timer: payload.kind, attempts: 1, error }),
      );
    });
    this.#cancels.add(cancel);
  }
}

/** Polls the instances that callers wait for: one for all clients and nodes of this process that use the store. */
export const instanceWatcher = sharedBy(
  (store, world) =>
    new Watcher<LoadedInstance | null>({
      world,
      firstPauseMs: 10,
      look: (keys) => store.machines.load(keys),
    }),
);
