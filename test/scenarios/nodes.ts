// Nodes as the scenarios use them: nodes that die or are cut off are processes of their own, the others run in this one.

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { afterEach, expect } from "vitest";
import type { Node, NodeOptions } from "../../src/index.js";
import { compiled } from "../harness/compiled.js";
import { mergeOptions } from "../harness/merge-options.js";
import { Held, openNode } from "./open-node.js";

export interface Told {
  readonly node: string;
  readonly event: string;
  // biome-ignore lint/suspicious/noExplicitAny: whatever the event has
  readonly detail: any;
}

type Options = Partial<Omit<NodeOptions, "store" | "programs">>;

export interface ScenarioNode {
  /** Releases the step that is waiting. */
  release(runId: string): void;
}

export class NodeProcess implements ScenarioNode {
  readonly #child: ChildProcess;

  constructor(child: ChildProcess) {
    this.#child = child;
  }

  /** At once, without a shutdown. */
  async kill(): Promise<void> {
    const { exitCode, signalCode } = this.#child;
    const gone = exitCode === null && signalCode === null ? once(this.#child, "exit") : null;
    this.#child.kill("SIGKILL");
    await gone;
  }

  release(runId: string): void {
    this.#child.send({ release: runId });
  }
}

export class NodeProcesses {
  readonly told: Told[] = [];
  readonly #where: { readonly schema: string };
  readonly #children = new Set<ChildProcess>();
  readonly #here: { readonly node: Node; readonly held: Held }[] = [];

  /** Call it at the top of a test file: what still runs after a test is killed, or stopped. */
  constructor(where: { readonly schema: string }) {
    this.#where = where;
    afterEach(async () => {
      for (const child of this.#children) child.kill("SIGKILL");
      this.#children.clear();
      for (const { held } of this.#here) held.releaseAll();
      await Promise.all(this.#here.splice(0).map(({ node }) => node.stop({ grace: 0 })));
      this.told.length = 0;
    });
  }

  #wish(name: string, url: string, options: Options) {
    return { url, schema: this.#where.schema, ...mergeOptions({ identity: { id: name } }, options) };
  }

  /** Resolves when it works, or was refused. */
  async start(name: string, url: string, options: Options = {}): Promise<NodeProcess> {
    const wish = JSON.stringify(this.#wish(name, url, options));
    const child = fork(compiled(join(import.meta.dirname, "node.child.ts")), [wish], { execArgv: [] });
    this.#children.add(child);
    child.on("exit", () => this.#children.delete(child));
    child.on("message", (message: Omit<Told, "node">) => this.told.push({ node: name, ...message }));
    const seen = this.told.length;
    await this.until(() => this.told.slice(seen).some((one) => one.node === name && isFirst(one.event)));
    return new NodeProcess(child);
  }

  /** The same in this process: a second or two faster, and enough for a node that is not killed. */
  async startHere(name: string, url: string, options: Options = {}): Promise<ScenarioNode & { stop(): Promise<void> }> {
    const held = new Held();
    const wish = this.#wish(name, url, options);
    const tell = (event: string, detail: unknown = null) => this.told.push({ node: name, event, detail });
    const node = await openNode(wish, tell, held);
    if (node) this.#here.push({ node, held });
    return {
      release: (runId) => held.release(runId),
      stop: async () => node?.stop({ grace: 0 }),
    };
  }

  of(event: string, node?: string): Told[] {
    return this.told.filter((one) => one.event === event && (node === undefined || one.node === node));
  }

  /** The nodes that began this step of the run, in order, and under which claim. */
  effects(runId: string, step: string): { readonly node: string; readonly epoch: number; readonly key: string }[] {
    return this.of("effect")
      .filter(({ detail }) => detail.runId === runId && detail.step === step)
      .map(({ node, detail }) => ({ node, epoch: detail.epoch, key: detail.key }));
  }

  until(holds: () => boolean, timeout = 30_000): Promise<void> {
    return expect.poll(holds, { timeout, interval: 20 }).toBe(true);
  }
}

const isFirst = (event: string) => event === "ready" || event === "refused";
