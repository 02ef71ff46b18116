// Draws operations on instances of machines: mostly from where they are, sometimes from where they were.

import type {
  Append,
  Change,
  NewInstance,
  NewTimer,
  NewTold,
  TimerSettlement,
} from "../../../src/store/contract/machine/machines.js";
import { group, json, newRun } from "../scene.js";
import type { Dice } from "./dice.js";
import { type Step, step } from "./differential-step.js";
import type { BothStores } from "./differential-stores.js";

const GROUPS = [group("m"), group("n", { stack: "blue" }), group("o", { env: "other" })];

/** Nodes that claim timers. */
const OWNERS = ["00000000-0000-7000-8000-00000000000a", "00000000-0000-7000-8000-00000000000b"];

export class MachineSteps {
  readonly #dice: Dice;
  readonly #both: BothStores;
  #last: readonly Append[] = [];

  constructor(dice: Dice, both: BothStores) {
    this.#dice = dice;
    this.#both = both;
  }

  next(): Step {
    const env = this.#dice.one(["test", "other"]);
    const [key, other, after] = [this.#key(), this.#key(), this.#dice.int(0, 2)];
    return this.#dice.pick([
      [5, () => this.#create()],
      [8, () => this.#append()],
      [5, () => this.#tell()],
      [4, () => this.#claim()],
      [3, () => this.#settle()],
      [1, step("machines.load", (store) => store.machines.load([key, other]))],
      [1, step("machines.events", (store) => store.machines.events(key, { after, limit: 5 }))],
      [1, step("machines.timers", (store) => store.machines.timers(key))],
      [2, () => this.#note(key)],
      // Rare, so it is used before another step removes it.
      [this.#dead() ? 12 : 1, () => this.#retry(key)],
      [1, () => this.#list(env)],
      [3, step("machines.prune", (store) => store.machines.prune({ env, endedBeforeMs: 50, limit: 2 }))],
    ]);
  }

  #key(): string {
    const keys = this.#both.snapshot().instances.map(({ key }) => key);
    return keys.length === 0 || this.#dice.chance(0.05) ? this.#dice.uuid() : this.#dice.one(keys);
  }

  #change(): Change {
    const events = this.#dice.many(1, 3, () => ({
      ...{ kind: this.#dice.one(["event", "timer"] as const), name: "GO", payload: json(this.#dice.int(0, 9)) },
      key: this.#dice.chance(0.2) ? `k-${this.#dice.int(1, 4)}` : null,
      by: this.#dice.chance(0.3) ? "ann" : null,
    }));
    return {
      token: this.#dice.uuid(),
      events,
      status: this.#dice.chance(0.06) ? this.#dice.one(["done", "stopped", "error"] as const) : "active",
      value: JSON.stringify(this.#dice.one(["a", "b"])),
      version: this.#dice.one([null, "1"]),
      snapshot: this.#dice.chance(0.5) ? json({ at: this.#dice.int(0, 99) }) : null,
      timers: this.#dice.many(0, 2, () => this.#timer()),
      told: this.#dice.chance(0.2) ? [this.#told()] : [],
      effects: this.#dice.chance(0.2) ? [newRun({ id: this.#dice.uuid(), group: this.#dice.one(GROUPS) })] : [],
    };
  }

  #timer(): NewTimer {
    const known = this.#both.snapshot().timers.map(({ id }) => id);
    return {
      id: known.length > 0 && this.#dice.chance(0.2) ? this.#dice.one(known) : this.#dice.uuid(),
      generation: this.#dice.int(1, 3),
      kind: this.#dice.one(["after", "raise"] as const),
      name: "after",
      payload: json(1),
      delayMs: this.#dice.int(0, 60),
    };
  }

  #told(): NewTold {
    const rest = { generation: this.#dice.int(0, 1), group: this.#dice.one(GROUPS), name: "HI", payload: json(2) };
    return { id: this.#dice.uuid(), instanceKey: this.#key(), delayMs: this.#dice.int(0, 30), ...rest };
  }

  #create(): Step {
    const made = this.#dice.many(1, 2, (): NewInstance => {
      const change = this.#change();
      const old = this.#dice.chance(0.2) ? this.#key() : this.#dice.uuid();
      const own = { key: old, id: `i-${old.slice(0, 4)}`, group: this.#dice.one(GROUPS), redact: ["context.x"] };
      const inputHash = this.#dice.one(["h", "h2"]);
      return {
        ...change,
        ...own,
        inputHash,
        snapshot: change.snapshot ?? json(0),
        timers: freshIds(this.#dice, change),
      };
    });
    if (this.#dice.chance(0.1)) made.push({ ...made[0]!, token: this.#dice.uuid(), inputHash: "h3" });
    if (this.#dice.chance(0.05)) made.push({ ...made[0]!, id: "\0" });
    return step("machines.create", (store) => store.machines.create(made));
  }

  #append(): Step {
    if (this.#last.length > 0 && this.#dice.chance(0.1)) {
      const again = this.#last;
      return step("machines.append", (store) => store.machines.append(again));
    }
    const keys = [...new Set(this.#dice.many(1, 3, () => this.#key()))];
    this.#last = keys.map((key) => this.#appendTo(key));
    const appends = this.#last;
    return step("machines.append", (store) => store.machines.append(appends));
  }

  #appendTo(key: string): Append {
    const { instances, timers } = this.#both.snapshot();
    const seq = instances.find((one) => one.key === key)?.seq ?? 1;
    const mine = timers.filter(({ instanceKey }) => instanceKey === key);
    const change = this.#change();
    const set = new Set([...change.timers, ...change.told].map(({ id }) => id));
    const fired = mine
      .filter(() => this.#dice.chance(0.3))
      .map(({ id, generation }) => {
        return { id, generation: this.#dice.chance(0.9) ? generation : generation + 1 };
      });
    const cancelled = mine.filter(({ id }) => !set.has(id) && this.#dice.chance(0.2)).map(({ id }) => id);
    const expectedSeq = this.#dice.chance(0.85) ? seq : Math.max(seq - 1, 1);
    const own = instances.find((one) => one.key === key)?.group ?? GROUPS[0]!;
    const made = { ...change, key, group: own, expectedSeq, fired, cancelled };
    return this.#dice.chance(0.04) ? { ...made, value: "\0" } : made;
  }

  #tell(): Step {
    const over = this.#both.snapshot().instances.filter(({ status }) => status !== "active");
    const told = this.#dice.many(1, 3, () => ({ ...this.#told(), generation: 0 }));
    if (over.length > 0 && this.#dice.chance(0.5)) told.push({ ...told[0]!, instanceKey: this.#dice.one(over).key });
    if (this.#dice.chance(0.3)) told.push(told[0]!);
    if (this.#dice.chance(0.15)) told.push({ ...told[0]!, name: "\0" });
    return step("machines.tell", (store) => store.machines.tell(told));
  }

  #claim(): Step {
    const groups = this.#dice.many(1, 2, () => this.#dice.one(GROUPS));
    const claim = { groups: [...new Set(groups)], limit: 50, leaseMs: this.#dice.int(5, 40), mostAttempts: 3 };
    if (this.#dice.chance(0.12)) claim.limit = 0;
    const owner = this.#dice.one(OWNERS);
    const gone = OWNERS.filter((one) => one !== owner && this.#dice.chance(0.15));
    return step("machines.claimTimers", (store) => store.machines.claimTimers({ ...claim, owner, gone }));
  }

  #settle(): Step {
    const some = this.#both.snapshot().timers.filter(() => this.#dice.chance(0.2));
    const settlements = some.map(
      ({ id, generation, attempts }): TimerSettlement => ({
        id,
        generation: this.#dice.chance(0.85) ? generation : generation + 1,
        attempts: this.#dice.chance(0.85) ? attempts : attempts + 1,
        as: this.#dice.one(["retry", "keep", "untried", "dead", "drop"] as const),
        delayMs: this.#dice.int(0, 30),
        problem: this.#dice.one([null, "why"]),
      }),
    );
    return step("machines.settleTimers", (store) => store.machines.settleTimers(settlements));
  }

  #dead() {
    return this.#both.snapshot().timers.find(({ state }) => state === "dead");
  }

  #retry(other: string): Step {
    const dead = this.#dead();
    const key = dead && this.#dice.chance(0.8) ? dead.instanceKey : other;
    return step("machines.retryTimers", (store) => store.machines.retryTimers(key));
  }

  #note(key: string): Step {
    const seq = this.#both.snapshot().instances.find((one) => one.key === key)?.seq ?? 1;
    const problem = this.#dice.one(["odd", "odder"]);
    const at = this.#dice.chance(0.8) ? seq : seq + 1;
    return step("machines.note", (store) => store.machines.note(key, at, problem));
  }

  #list(env: string): Step {
    const before = this.#dice.chance(0.3) ? { before: this.#key() } : {};
    const page = { limit: this.#dice.int(1, 4), ...before };
    const filter = { env, ...(this.#dice.chance(0.3) && { statuses: ["active" as const] }) };
    return step("machines.list", (store) => store.machines.list(filter, page));
  }
}

/** A new instance brings timers of its own. */
function freshIds(dice: Dice, { timers }: Change): NewTimer[] {
  return timers.map((timer) => ({ ...timer, id: dice.uuid() }));
}
