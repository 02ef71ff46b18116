// A client outside the cluster: the real client code over its own link. Repeats until it has an answer, and remembers
// the answers.

import type { CancelOutcome, Paused } from "../client/ask-to-stop.js";
import type { RetryOptions } from "../client/dead-letters.js";
import type { DecisionOptions } from "../client/run-handle.js";
import type { StartOptions } from "../client/runs.js";
import type { NodeMode } from "../kernel/node-mode.js";
import { sleep, type World } from "../kernel/world.js";
import type { Node } from "../node/create-node.js";
import type { AnyDefinition } from "../program/definition.js";
import type { Signal } from "../replay/signal.js";
import type { Emitted } from "../trigger/emitted.js";
import type { EventType } from "../trigger/event.js";
import type { History } from "./check/history.js";

const ASK_AGAIN_MS = 50;

export class Client {
  readonly #node: Node;
  readonly #world: World;
  readonly #history: History | null;
  readonly #runs: string[] = [];
  readonly #signals: { readonly runId: string; readonly key: string }[] = [];

  /** `history`: informed of what this client was promised. */
  constructor(node: Node, world: World, history: History | null = null) {
    this.#node = node;
    this.#world = world;
    this.#history = history;
  }

  /** Answers the run's id; null when the outcome stays unknown, which it does only without a key. */
  async start(workflow: AnyDefinition, input: unknown, options: StartOptions): Promise<string | null> {
    const run = await this.#insist(() => this.#node.start(workflow, input, options), options.key !== undefined);
    if (run) this.#runs.push(run.id);
    return run?.id ?? null;
  }

  /** Asked again until it is known: the same event starts nothing twice. A debounced one then counts as one more. */
  async emit<Payload extends object>(
    type: EventType<string, Payload>,
    payload: NoInfer<Payload>,
    options: { readonly id?: string } = {},
  ): Promise<Emitted | null> {
    const emitted = await this.#insist(() => this.#node.emit(type, payload, options), true);
    for (const { runId } of emitted?.runs ?? []) if (runId !== null) this.#runs.push(runId);
    return emitted;
  }

  async signal(runId: string, signal: Signal<string>, payload: string): Promise<void> {
    const sent = () =>
      this.#node
        .run(runId)
        .signal(signal, payload, { id: payload })
        .then(() => true);
    if (await this.#insist(sent, true)) this.#signals.push({ runId, key: `signal:${payload}` });
  }

  async decide(runId: string, approval: string, decision: DecisionOptions): Promise<void> {
    await this.#insist(() => this.#node.run(runId).decide(approval, decision), true);
  }

  /** Opens a run again that gave up; nothing happens to one that did not. */
  async retry(runId: string, options: RetryOptions): Promise<void> {
    await this.#insist(() => this.#node.dead.retry([runId], options), true);
  }

  /** One task of a DAG, by its number; with or without those behind it. */
  async retryTask(runId: string, nth: number, after: boolean): Promise<void> {
    await this.#insist(async () => {
      const run = this.#node.run(runId);
      const tasks = await run.tasks();
      const task = tasks[nth % tasks.length];
      if (task) await run.retry({ task: task.name, after });
    }, true);
  }

  async cancel(runId: string): Promise<void> {
    await this.#stop(runId, () => this.#node.run(runId).cancel({ by: "client" }));
  }

  async pause(runId: string): Promise<void> {
    await this.#stop(runId, () => this.#node.run(runId).pause({ by: "client" }));
  }

  async #stop(runId: string, ask: () => Promise<CancelOutcome | Paused>): Promise<void> {
    const askedAt = this.#history?.now ?? 0;
    const answer = await this.#insist(ask, true);
    const outcome = answer?.outcome === "requested" && !answer.acknowledged ? "unheard" : answer?.outcome;
    if (outcome === "requested" || outcome === "cancelled" || outcome === "paused")
      this.#history?.promises.answered(runId, {
        askedAt,
        now: this.#history.now,
        disturbedAt: this.#history.disturbedAt,
      });
  }

  /** Asked again until it is known; a node that is not there has no mode. */
  async setMode(node: string, mode: NodeMode): Promise<void> {
    await this.#insist(() => this.#node.nodes.setMode(node, mode, { by: "client" }), true);
  }

  async drain(node: string): Promise<void> {
    await this.#insist(() => this.#node.nodes.drain(node, { by: "client" }), true);
  }

  async resume(runId: string): Promise<void> {
    await this.#insist(() => this.#node.run(runId).resume({ by: "client" }), true);
  }

  /** S1: what was acknowledged is there, unless a failover lost it. */
  check(history: History): void {
    for (const id of this.#runs) {
      if (!history.runs.has(id) && !history.lost.has(id)) history.broken("S1", id, "was started, and is not there");
    }
    for (const { runId, key } of this.#signals) {
      const run = history.runs.get(runId);
      if (!run || history.lost.has(`${runId} ${key}`)) continue;
      history.expect(
        run.messages.some((message) => message.key === key),
        "S1",
        run,
        `${key} was sent, and is not there`,
      );
    }
  }

  /** null: unknown, or refused for a good reason (the run has ended, or a failover lost it). */
  async #insist<T>(ask: () => Promise<T>, repeat: boolean): Promise<T | null> {
    for (;;) {
      try {
        return await ask();
      } catch (error) {
        const { code } = error as { code?: unknown };
        if (code !== "STORE_UNAVAILABLE" || !repeat) return null;
        await sleep(this.#world, ASK_AGAIN_MS);
      }
    }
  }
}
