// The node processes of a development cluster: a change of the code is a rolling deployment, a dead process is started again.

import type { AppProblem, DevState, Supervisor } from "../admin/supervisor.js";
import type { World } from "../kernel/world.js";
import { loaderOf, problemOf } from "./load-app.js";
import { NodeChild } from "./node-child.js";
import type { NodeReport } from "./node-report.js";

export type ClusterEvent =
  | { readonly is: "report"; readonly node: string; readonly report: NodeReport }
  | { readonly is: "output"; readonly node: string; readonly line: string }
  | { readonly is: "killed" | "died" | "woke" | "started"; readonly node: string }
  | { readonly is: "frozen"; readonly node: string; readonly ms: number }
  | { readonly is: "broken"; readonly problem: AppProblem }
  | { readonly is: "deployed"; readonly ms: number; readonly nodes: number };

export interface ClusterOptions {
  readonly world: World;
  /** The file whose programs are served. */
  readonly app: string;
  readonly names: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** For how long a node is frozen. Longer than its lease. */
  readonly freezeMs: number;
  /** How long a dead node stays down. */
  readonly downMs: number;
  readonly onEvent: (event: ClusterEvent) => void;
}

export class Cluster implements Supervisor {
  readonly #options: ClusterOptions;
  readonly #current = new Map<string, NodeChild>();
  /** Killed by a request or a key, so that their end is no surprise. */
  readonly #killed = new Set<NodeChild>();
  readonly #leaving = new Set<NodeChild>();
  #problem: AppProblem | null = null;
  #deploying: Promise<void> = Promise.resolve();
  #stopped = false;
  /** Timers of processes that are down, which would keep this process from ending. */
  readonly #timers = new Set<() => void>();

  constructor(options: ClusterOptions) {
    this.#options = options;
  }

  /** New processes first; the old ones stop in order when the new ones are up. With broken code the old ones stay. */
  deploy(): Promise<void> {
    this.#deploying = this.#deploying.then(() => this.#deploy());
    return this.#deploying;
  }

  async #deploy(): Promise<void> {
    const { world, names, onEvent } = this.#options;
    if (this.#stopped) return;
    const begunAt = world.monotonicNow();
    const isFirst = this.#current.size === 0;
    const { children, problem } = await this.#startAll(names);
    if (problem !== null) {
      await Promise.all(children.map((child) => child.stop()));
      this.#problem = problem;
      onEvent({ is: "broken", problem });
      return;
    }
    this.#problem = null;
    const old = [...this.#current.values()];
    for (const child of children) this.#current.set(child.name, child);
    if (this.#stopped) return this.stop();
    await Promise.all(old.map((child) => this.#leave(child)));
    if (isFirst) for (const { name } of children) onEvent({ is: "started", node: name });
    else onEvent({ is: "deployed", ms: world.monotonicNow() - begunAt, nodes: children.length });
  }

  async #startAll(names: readonly string[]): Promise<{ children: NodeChild[]; problem: AppProblem | null }> {
    try {
      const children = names.map((name) => this.#spawn(name));
      const problems = await Promise.all(children.map(({ started }) => started));
      return { children, problem: problems.find((one) => one !== null) ?? null };
    } catch (error) {
      return { children: [], problem: problemOf(error) };
    }
  }

  #spawn(name: string): NodeChild {
    const { world, app, environment, onEvent } = this.#options;
    return new NodeChild({
      world,
      name,
      app,
      environment,
      execArgv: loaderOf(app),
      onReport: (_, report) => onEvent({ is: "report", node: name, report }),
      onOutput: (_, line) => onEvent({ is: "output", node: name, line }),
      onEnd: (child, asked) => this.#ended(child, asked),
    });
  }

  async #leave(child: NodeChild): Promise<void> {
    this.#leaving.add(child);
    await child.stop();
    this.#leaving.delete(child);
  }

  /** A process that ended unasked is down for a while, so that its runs are seen to continue elsewhere. */
  #ended(child: NodeChild, asked: boolean): void {
    const { world, downMs, onEvent } = this.#options;
    const isCurrent = this.#current.get(child.name) === child;
    if (!isCurrent || asked || this.#stopped) return;
    onEvent({ is: this.#killed.delete(child) ? "killed" : "died", node: child.name });
    const cancel = world.after(downMs, () => {
      this.#timers.delete(cancel);
      if (this.#current.get(child.name) === child) void this.#again(child.name);
    });
    this.#timers.add(cancel);
  }

  async #again(name: string): Promise<void> {
    if (this.#stopped) return;
    const child = this.#spawn(name);
    this.#current.set(name, child);
    const problem = await child.started;
    if (problem === null) this.#options.onEvent({ is: "started", node: name });
    else if (!this.#stopped) this.#options.onEvent({ is: "broken", problem });
  }

  #running(incarnation: string): NodeChild | null {
    const found = [...this.#current.values()].find(({ node }) => node.incarnation === incarnation);
    return found && ["up", "frozen"].includes(found.node.state) ? found : null;
  }

  state(): DevState {
    const nodes = this.#options.names.map(
      (name) => this.#current.get(name)?.node ?? { name, incarnation: null, state: "down" as const },
    );
    return { app: this.#options.app, problem: this.#problem, nodes };
  }

  kill(incarnation: string): string | null {
    const child = this.#running(incarnation);
    if (!child) return null;
    this.#killed.add(child);
    child.kill();
    return child.name;
  }

  freeze(incarnation: string): number | null {
    const { freezeMs, onEvent } = this.#options;
    const child = this.#running(incarnation);
    if (child?.node.state !== "up") return null;
    onEvent({ is: "frozen", node: child.name, ms: freezeMs });
    child.freeze(freezeMs, () => onEvent({ is: "woke", node: child.name }));
    return freezeMs;
  }

  restart(incarnation: string): string | null {
    const child = [...this.#current.values()].find(({ node }) => node.incarnation === incarnation);
    if (!child || !["up", "frozen", "down"].includes(child.node.state)) return null;
    void this.#replace(child);
    return child.name;
  }

  async #replace(child: NodeChild): Promise<void> {
    await this.#leave(child);
    await this.#again(child.name);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    for (const cancel of this.#timers) cancel();
    await Promise.all([...this.#current.values(), ...this.#leaving].map((child) => child.stop()));
  }
}
