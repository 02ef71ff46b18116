// `testNode`: a node in memory whose time skips while everything waits, and which a test can crash and restart.

import type { DeadLetters } from "../../client/dead-letters.js";
import type { GraphRuns } from "../../client/graph/graph-runs.js";
import type { Instances } from "../../client/machines.js";
import type { Queues } from "../../client/queues.js";
import { runEvents } from "../../client/run-event.js";
import type { RunHandle } from "../../client/run-handle.js";
import type { StartArguments, StartOptions } from "../../client/runs.js";
import type { Schedules } from "../../client/schedules.js";
import { FanOuts } from "../../graph/fan-out.js";
import { type Duration, toMs } from "../../kernel/duration.js";
import type { InstanceId, MachineDefinition } from "../../machine/definition.js";
import type { Instance, InstanceOptions } from "../../machine/instance.js";
import type { MachineEvent } from "../../machine/logic.js";
import type { Node } from "../../node/create-node.js";
import type { NodeEvents } from "../../node/node-events.js";
import type { NodeOptions } from "../../node/node-options.js";
import type { AnyDefinition, Definition } from "../../program/definition.js";
import type { Store } from "../../store/contract/store.js";
import { type Bus, createBus } from "../../telemetry/bus.js";
import { type Histories, historiesOf, readHistory } from "../replay/history.js";
import { answerWaits } from "./answer-waits.js";
import { driven } from "./driven.js";
import { Journal } from "./journal.js";
import { anyCanMove, canMove } from "./next-due.js";
import { Stubs } from "./stubs.js";
import { type BedOptions, type Process, TestBed } from "./test-bed.js";
import { journalOf } from "./what-waits.js";

/** Options of `testNode`. */
export interface TestNodeOptions extends Omit<BedOptions, "programs"> {
  /** A function is called for each process: what its programs keep in memory ends with a crash. */
  readonly programs: NodeOptions["programs"] | (() => NodeOptions["programs"]);
}

/** A run of a test: every call moves time until it is answered. */
export type TestRun<Out> = RunHandle<Out> & {
  /** Resolves when the run has ended, or waits for a message, a time or a person. Time does not skip. */
  untilParked(): Promise<void>;
  /** What the run has recorded. */
  journal(): Promise<Journal>;
};

/** A node in memory with time that skips, for tests: crash, restart, advance, stubs. */
export class TestNode implements AsyncDisposable {
  /** What answers in place of steps, children, signals and approvals. */
  readonly stub: Stubs;
  /** Runs that failed for good. */
  readonly dead: DeadLetters;
  /** Pauses, resumes and lists queues. */
  readonly queues: Queues;
  /** Reads, forks, rewinds and compares runs of graphs. */
  readonly graphs: GraphRuns;
  /** Lists, pauses, resumes and fires schedules. */
  readonly schedules: Schedules;
  /** Lists, prunes and sends events to instances of machines. */
  readonly instances: Instances;
  readonly #bed: TestBed;
  readonly #bus: Bus<NodeEvents>;
  readonly #client: Node;
  readonly #programs: () => NodeOptions["programs"];
  readonly #id: string;
  #process: Process | null = null;
  #opening: Promise<void> | null = null;
  /** False after a crash or a stop, until the restart. */
  #isWanted = true;

  constructor(options: TestNodeOptions) {
    this.#bus = options.bus ?? createBus<NodeEvents>();
    this.stub = new Stubs(() => this.#reopen());
    const { programs } = options;
    this.#programs = typeof programs === "function" ? programs : () => programs;
    const { id } = options.identity ?? {};
    this.#id = typeof id === "string" ? id : "test-node";
    const answered = new Map<string, number>();
    this.#bed = new TestBed(
      { ...options, programs: [], bus: this.#bus },
      {
        perform: (_life, call, work) => this.stub.perform(call, work),
        answer: () => answerWaits(this.#bed, this.stub, answered),
        isUp: () => this.#process !== null,
      },
    );
    const { client } = this.#bed;
    this.#client = this.#drive(client);
    this.dead = this.#drive(client.dead);
    this.queues = this.#drive(client.queues);
    this.graphs = this.#drive(client.graphs);
    this.schedules = this.#drive(client.schedules);
    this.instances = this.#drive(client.instances);
  }

  /** The test's time. */
  get now(): Date {
    return new Date(this.#bed.clock.wallNow());
  }

  /** The memory store of the test, for example for `memoryTransaction(node.store)`. */
  get store(): Store {
    return this.#bed.store;
  }

  /** Starts an instance of a machine, or a run of another program. */
  start<Name extends string, In, Out, Ev extends MachineEvent, Value, Context>(
    machine: MachineDefinition<Name, In, Out, Ev, Value, Context>,
    ...args: StartArguments<In, InstanceOptions<NoInfer<Name>>>
  ): Promise<Instance<Ev, Value, Context, Out, Name>>;
  start<In, Out, Parsed>(
    program: Definition<string, In, Out, Parsed>,
    ...args: StartArguments<In>
  ): Promise<TestRun<Out>>;
  async start(program: AnyDefinition, input?: unknown, options: StartOptions & InstanceOptions = {}): Promise<unknown> {
    await this.#ready();
    return this.#client.start(program, input, options);
  }

  /** Emits an event, as `node.emit`. */
  emit: Node["emit"] = async (type, payload, options) => {
    await this.#ready();
    return this.#client.emit(type, payload, options);
  };

  /** A handle on the run with this id. */
  run<Out = unknown>(id: string): TestRun<Out> {
    // The client answers with handles that the driver has converted.
    return this.#client.run<Out>(id) as TestRun<Out>;
  }

  /** An instance of a machine, by its id. */
  instance<Name extends string, In, Out, Ev extends MachineEvent, Value, Context>(
    machine: MachineDefinition<Name, In, Out, Ev, Value, Context>,
    id: InstanceId<NoInfer<Name>>,
  ): Instance<Ev, Value, Context, Out, Name> {
    return this.#client.instance(machine, id);
  }

  /** Listens to an event of the node. Returns a function that ends it. */
  on: Bus<NodeEvents>["on"] = (name, listener) => this.#bus.on(name, listener);

  /** The journals of all runs of the test, to replay them against other code. */
  async histories(): Promise<Histories> {
    const { store, client } = this.#bed;
    const { runs } = await store.runs.list({ env: client.env }, { limit: 1000 });
    const read = await Promise.all(runs.map((run) => readHistory(store, run)));
    return historiesOf(read.filter((history) => history !== null));
  }

  /** Moves the test's time. What becomes due on the way happens at its moment. */
  async advance(duration: Duration): Promise<void> {
    await this.#ready();
    await this.#bed.driver.advance(toMs(duration, "duration"));
  }

  /** Resolves when no run can move on without a message, a time or a person. Time does not skip. */
  async untilParked(): Promise<void> {
    await this.#ready();
    await this.#bed.driver.until(() => !anyCanMove(this.#bed.tables));
  }

  /** Kills the process: what it had not committed is lost. The store and the test's handles stay. */
  async crash(): Promise<void> {
    this.#isWanted = false;
    this.#process?.life.kill();
    this.#process = null;
    this.#opening = null;
    await this.#bed.clock.settle();
  }

  /** Starts a new process under the same id, after a crash, after a stop, or in place of the running one. */
  async restart(): Promise<void> {
    if (this.#process) await this.stop();
    this.#isWanted = true;
    await this.#ready();
  }

  /** Stops the process in order: it hands back what does not end within its grace. */
  async stop(): Promise<void> {
    await this.#opening;
    const process = this.#process;
    this.#isWanted = false;
    this.#opening = null;
    if (!process) return;
    await this.#bed.driver.drive(process.node.stop());
    process.life.kill();
    this.#process = null;
  }

  /** Stops the node: `await using node = await testNode(…)`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /** The process starts with the first call, so that stubs can be set before. */
  #ready(): Promise<void> {
    if (!this.#isWanted) return Promise.resolve();
    this.#opening ??= this.#open();
    return this.#opening;
  }

  async #open(): Promise<void> {
    this.#process = await this.#bed.open({
      programs: () => this.stub.programs(this.#programs()),
      id: this.#id,
    });
  }

  /** Other programs need another process. */
  #reopen(): void {
    if (this.#opening === null) return;
    this.#opening = this.#opening.then(async () => {
      await this.#bed.driver.drive(this.#process?.node.stop() ?? Promise.resolve());
      this.#process?.life.kill();
      await this.#open();
    });
  }

  #drive<T extends object>(target: T): T {
    return driven(target, this.#bed.driver, (handle) => this.#testRun(handle));
  }

  #testRun(handle: RunHandle<unknown>): TestRun<unknown> {
    const { tables, codecs, driver } = this.#bed;
    const rowOf = () => tables.runs.get(handle.id);
    return Object.assign(this.#drive(handle), {
      untilParked: async () => {
        await this.#ready();
        await driver.until(() => {
          const row = rowOf();
          return row === undefined || !canMove(tables, row);
        });
      },
      journal: async () => {
        const entries = journalOf(tables, handle.id);
        const steps = new FanOuts();
        return new Journal(entries.flatMap((entry) => runEvents(entry, codecs, steps)));
      },
    });
  }
}

/**
 * A node for tests: in memory, with time that skips. It starts with the first call.
 *
 * @example
 * ```ts
 * test("an order that is not paid expires after 30 days", async () => {
 *   await using node = testNode({ programs: [order] });
 *   const run = await node.start(order, "o-1");
 *   expect(await run.result()).toBe("expired");
 * });
 * ```
 */
export function testNode(options: TestNodeOptions): TestNode {
  return new TestNode(options);
}
