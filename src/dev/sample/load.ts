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
/** Every fourth order and every text wait for you; of more than this, the oldest is decided. */
const LEFT_TO_YOU = 4;
const MOST_LEFT = 5;
/** Enough dead letters to try the page with. */
const LAST_FAILURE = 80;

interface Asking {
  readonly approval: string;
  readonly by: string;
  readonly left: boolean;
}

export class Load {
  readonly #options: LoadOptions;
  readonly #asking = new Map<string, Asking>();
  readonly #left: (() => void)[] = [];
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

  /** A run that parks asks a person. Most orders are approved soon. */
  heard(one: NodeReport): void {
    if (one.is !== "settled" || one.as !== "parked") return;
    const asking = this.#asking.get(one.runId);
    this.#asking.delete(one.runId);
    if (!asking) return;
    const { approval, by, left } = asking;
    const decide = () => {
      void this.#options.client
        .run(one.runId)
        .decide(approval, { choice: "approved", by })
        .catch(() => {});
    };
    if (left) this.#left.push(decide);
    else this.#after(DECIDES_AFTER_MS, decide);
    if (this.#left.length > MOST_LEFT) this.#left.shift()?.();
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
    this.#asking.set(run.id, { approval: "ship", by: "warehouse", left: n % LEFT_TO_YOU === 0 });
    if (n % 3 === 1)
      await client.emit(resourceUpdated, { kind: "disk", resourceId: `r-${n % 5}`, used: 50 + (n % 50) });
    if (n % 5 === 1 && payment) await this.#pay(`p-${id}`, n);
    if (n % 6 === 1) await client.start(etl, { day: "2026-01-01", files: 6 });
    if (n % 8 === 1) {
      const { id: text } = await client.start(research, ["tea", "pots", "ships"][n % 3] ?? "tea");
      this.#asking.set(text, { approval: "review", by: "editor", left: true });
    }
    if (n % 10 === 1 && n < LAST_FAILURE) await client.start(invoice, { id, orderedAt: world.wallNow() });
    if (n % 12 === 1) await client.start(monitor.expectations.advise, { resourceId: `r-${n % 5}` });
  }

  async #pay(id: string, n: number): Promise<void> {
    const { client } = this.#options;
    if (!payment) return;
    const instance = await client.start(payment, { email: "ann@example.com" }, { id });
    // Every third one is never paid, and expires; so does the first.
    if (n % 3 !== 1) this.#after(3_000, () => void instance.send({ type: "PAY", cents: 300 }).catch(() => {}));
  }
}
