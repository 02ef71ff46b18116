// A little steady load on the sample app: an order every few seconds, now and then something of every other kind.

import type { Client } from "../../client/create-client.js";
import type { World } from "../../kernel/world.js";
import type { NodeReport } from "../node-report.js";
import { etl, invoice, monitor, order, payment, research, resourceUpdated } from "./programs.js";

export interface LoadOptions {
  readonly client: Client<readonly []>;
  readonly world: World;
  readonly onProblem: (error: unknown) => void;
}

const EVERY_MS = 2_000;
const DECIDES_AFTER_MS = 2_000;
/** Every fourth order waits for you. */
const LEFT_TO_YOU = 4;

export class Load {
  readonly #options: LoadOptions;
  readonly #orders = new Map<string, number>();
  #n = 0;
  readonly #timers = new Set<() => void>();

  constructor(options: LoadOptions) {
    this.#options = options;
  }

  start(): void {
    this.#tick();
  }

  stop(): void {
    for (const cancel of this.#timers) cancel();
    this.#timers.clear();
  }

  #after(ms: number, work: () => void): void {
    const cancel = this.#options.world.after(ms, () => {
      this.#timers.delete(cancel);
      work();
    });
    this.#timers.add(cancel);
  }

  /** An order that parks asks the warehouse, which approves most of them. */
  heard(one: NodeReport): void {
    if (one.is !== "settled" || one.as !== "parked") return;
    const n = this.#orders.get(one.runId);
    this.#orders.delete(one.runId);
    if (n === undefined || n % LEFT_TO_YOU === 0) return;
    const { client } = this.#options;
    const decide = () => client.run(one.runId).decide("ship", { choice: "approved", by: "warehouse" });
    this.#after(DECIDES_AFTER_MS, () => void decide().catch(() => {}));
  }

  #tick(): void {
    this.#n++;
    this.#one(this.#n).catch(this.#options.onProblem);
    this.#after(EVERY_MS, () => this.#tick());
  }

  async #one(n: number): Promise<void> {
    const { client, world } = this.#options;
    const id = `o-${n}-${world.token().slice(0, 4)}`;
    const run = await client.start(order, { id, cents: 100 + 7 * (n % 90) }, { key: `order:${id}` });
    this.#orders.set(run.id, n);
    if (n % 3 === 1)
      await client.emit(resourceUpdated, { kind: "disk", resourceId: `r-${n % 5}`, used: 50 + (n % 50) });
    if (n % 5 === 1 && payment) await this.#pay(`p-${id}`, n);
    if (n % 6 === 1) await client.start(etl, { day: "2026-01-01", files: 6 });
    if (n % 8 === 1) await client.start(research, ["tea", "pots", "ships"][n % 3] ?? "tea");
    if (n % 10 === 1) await client.start(invoice, { id, orderedAt: world.wallNow() });
    if (n % 12 === 1) await client.start(monitor.expectations.advise, { resourceId: `r-${n % 5}` });
  }

  async #pay(id: string, n: number): Promise<void> {
    const { client } = this.#options;
    if (!payment) return;
    const instance = await client.start(payment, { email: "ann@example.com" }, { id });
    // Every third one is never paid, and expires.
    if (n % 3 !== 0) this.#after(3_000, () => void instance.send({ type: "PAY", cents: 300 }).catch(() => {}));
  }
}
