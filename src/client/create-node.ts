// `createNode`: a process that starts runs, works on them, and gives them back when it stops.

import { Engine } from "../engine/engine.js";
import type { EngineEvents } from "../engine/events.js";
import { payloadHash } from "../kernel/canonical.js";
import type { Codec } from "../kernel/codec.js";
import { type Codecs, codecs as openCodecs } from "../kernel/codecs.js";
import { type Duration, toMs } from "../kernel/duration.js";
import { HoldfastError } from "../kernel/error.js";
import { newLimits } from "../kernel/limit-rule.js";
import { dedupeKey, envName, nodeName, stackName, versionName } from "../kernel/name.js";
import type { NewKey, NewRun } from "../kernel/new-run.js";
import type { SettingOptions, Settings } from "../kernel/setting-options.js";
import { resolveSettings } from "../kernel/settings.js";
import { systemWorld } from "../kernel/system-world.js";
import type { World } from "../kernel/world.js";
import type { QueueRecord } from "../store/contract/queues.js";
import type { Store } from "../store/contract/store.js";
import type { Transaction } from "../store/contract/transaction.js";
import { type Bus, createBus } from "../telemetry/bus.js";
import type { AnyWorkflow, Workflow } from "../workflow/context.js";
import { workflowProgram } from "../workflow/execute.js";
import { RunHandle } from "./run-handle.js";

export interface NodeOptions extends SettingOptions {
  readonly store: Store;
  readonly programs: readonly AnyWorkflow[];
  /** Who this process is across restarts. Default: generated. */
  readonly identity?: string;
  readonly name?: string;
  readonly env?: string;
  readonly stack?: string;
  readonly build?: string;
  /** The first writes; `json` is always readable. */
  readonly codecs?: readonly Codec[];
  readonly bus?: Bus<EngineEvents>;
}

export interface StartOptions {
  /** The same key and input: the existing run. The same key, other input: `KeyConflict`. */
  readonly key?: string;
  readonly priority?: number;
  readonly delay?: Duration;
  /** Your own transaction: the run is there when you commit. */
  readonly tx?: Transaction;
}

/** Another run has this key, with other input. */
export class KeyConflict extends HoldfastError {
  readonly code = "KEY_CONFLICT";
  readonly runId: string;

  constructor(key: string, runId: string) {
    super(
      `The key ${JSON.stringify(key)} belongs to run ${runId}, which was started with other input. Use another key.`,
    );
    this.runId = runId;
  }
}

/** Without input when the workflow takes none. */
export type StartArguments<In> = undefined extends In
  ? [input?: In, options?: StartOptions]
  : [input: In, options?: StartOptions];

export interface Queues {
  /** Hands out no more runs of this queue, on any node; what runs goes on. */
  pause(queue: string, options?: { readonly by?: string }): Promise<void>;
  resume(queue: string): Promise<void>;
  list(): Promise<readonly QueueRecord[]>;
}

export class Node implements AsyncDisposable {
  readonly identity: string;
  readonly name: string;
  readonly env: string;
  readonly stack: string | null;
  readonly warnings: readonly string[];
  readonly #store: Store;
  readonly #codecs: Codecs;
  readonly #world: World;
  readonly #settings: Settings;
  readonly #bus: Bus<EngineEvents>;
  readonly #engine: Engine;
  #stopping: Promise<void> | null = null;

  constructor(options: NodeOptions, world: World) {
    const { store, programs, identity, name, env, stack, build, codecs, bus, ...settings } = options;
    const resolved = resolveSettings(settings);
    this.#settings = resolved.settings;
    this.warnings = resolved.warnings;
    this.#store = store;
    this.#world = world;
    this.#codecs = openCodecs(codecs);
    this.#bus = bus ?? createBus<EngineEvents>({ world });
    this.identity = nodeName(identity ?? `node-${world.token().slice(0, 8)}`, "identity");
    this.name = nodeName(name ?? this.identity, "name");
    this.env = envName(env ?? "default", "env");
    this.stack = stack === undefined ? null : stackName(stack, "stack");
    this.#engine = new Engine({
      store,
      programs: programs.map((program) =>
        workflowProgram(program, this.#codecs, (child, input) => this.#newRun(child, input, {})),
      ),
      settings: this.#settings,
      world,
      bus: this.#bus,
      identity: this.identity,
      name: this.name,
      env: this.env,
      stack: this.stack,
      build: build === undefined ? null : versionName(build, "build"),
    });
  }

  get incarnation(): string {
    return this.#engine.incarnation;
  }

  /** Runs worked on now. */
  get active(): number {
    return this.#engine.active;
  }

  on: Bus<EngineEvents>["on"] = (name, listener) => this.#bus.on(name, listener);

  /** The queues of this node's env. */
  get queues(): Queues {
    const { queues } = this.#store;
    return {
      pause: (queue, options = {}) => queues.pause(this.env, queue, options.by ?? this.name),
      resume: (queue) => queues.resume(this.env, queue),
      list: () => queues.list(this.env),
    };
  }

  /** Called by createNode. */
  open(): Promise<void> {
    return this.#engine.start();
  }

  async start<In, Out>(
    workflow: Workflow<string, In, Out>,
    ...[input, options = {}]: StartArguments<In>
  ): Promise<RunHandle<Out>> {
    const run = this.#newRun(workflow, input, options);
    const [answer] = await this.#store.runs.insert([run], options.tx ? { tx: options.tx } : {});
    if (answer?.outcome === "refused") throw answer.error;
    if (answer?.outcome === "conflict") throw new KeyConflict(options.key!, answer.runId);
    if (!options.tx) this.#engine.hint();
    return this.run<Out>(answer!.runId);
  }

  run<Out = unknown>(id: string): RunHandle<Out> {
    return new RunHandle<Out>(id, this.#store, this.#codecs, this.#world);
  }

  stop(options: { readonly grace?: Duration } = {}): Promise<void> {
    const graceMs = options.grace === undefined ? this.#settings.shutdownGraceMs : toMs(options.grace, "grace");
    this.#stopping ??= this.#engine.stop(graceMs);
    return this.#stopping;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  #newRun(workflow: AnyWorkflow, input: unknown, options: StartOptions): NewRun {
    const { name: program, queue, version } = workflow;
    return {
      id: this.#world.id(),
      group: { env: this.env, stack: this.stack, queue, program, version },
      priority: options.priority ?? 0,
      delayMs: options.delay === undefined ? 0 : toMs(options.delay, "delay"),
      crashLimit: this.#settings.crashLimit,
      input: this.#codecs.encode(input, "input"),
      ...(workflow.limits.length > 0 && { limits: newLimits(workflow.limits, queue, input) }),
      ...(options.key !== undefined && { key: this.#newKey(program, options.key, input) }),
    };
  }

  #newKey(scope: string, key: string, input: unknown): NewKey {
    const payload = payloadHash(input, "input");
    return { scope, key: dedupeKey(key, "key"), payloadHash: payload, lifetime: "archived", onMismatch: "conflict" };
  }
}

export async function createNode(options: NodeOptions, world: World = systemWorld()): Promise<Node> {
  const node = new Node(options, world);
  await node.open();
  return node;
}
