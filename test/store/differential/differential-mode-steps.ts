// Draws operations on what other nodes left: reclaiming of orphans, deferred runs, and the modes of nodes.

import type { ModeChange } from "../../../src/kernel/node-mode.js";
import { RECOVERIES } from "../../../src/kernel/run/recovery.js";
import type { Dice } from "./dice.js";
import { type Drawer, GROUPS, type Step, step } from "./differential-step.js";

export class ModeSteps {
  readonly #dice: Dice;
  readonly #drawn: Drawer;

  constructor(drawn: Drawer) {
    this.#dice = drawn.dice;
    this.#drawn = drawn;
  }

  recovery(): Step {
    const declared = GROUPS.filter(() => this.#dice.chance(0.4)).map((group) => ({
      group,
      limits: [],
      recovery: this.#dice.one(RECOVERIES),
      cleansUp: this.#dice.chance(0.3),
    }));
    const { nodes } = this.#drawn;
    const node = nodes.at(-2) ?? "00000000-0000-7000-8000-000000000000";
    const staleMs = this.#dice.one([0, 0, 20]);
    const env = this.#dice.one(["test", "other", undefined]);
    const stack = this.#dice.one(["blue", "green", undefined]);
    const filter = { staleMs, limit: this.#dice.int(0, 5), ...(env && { env }), ...(stack && { stack }) };
    const held = this.#drawn.held.slice(-6).filter(() => this.#dice.chance(0.7));
    const decisions = [...new Map(held.map(({ claim }) => [claim.runId, claim])).values()].map(({ runId, epoch }) => ({
      runId: this.#dice.chance(0.06) ? "nobody" : runId,
      epoch: this.#dice.chance(0.1) ? epoch + 1 : epoch,
      policy: this.#dice.one(RECOVERIES),
    }));
    return this.#dice.pick<Step>([
      [1, step("declare", (store) => store.runs.declare(node, declared))],
      [2, step("orphans", (store) => store.runs.orphans(filter))],
      [4, step("recover", (store) => store.runs.recover(decisions, { staleMs }))],
    ]);
  }

  deferred(): Step {
    const limit = this.#dice.int(0, 3);
    const keyed = this.#drawn.both.snapshot().keys;
    const runId = keyed.length > 0 && this.#dice.chance(0.7) ? this.#dice.one(keyed).runId : this.#drawn.runId();
    const programs = GROUPS.map(({ queue, program, version }) => ({ queue, program, version }));
    const query = {
      env: this.#dice.one(["test", "test", "other"]),
      own: this.#dice.one([null, null, "blue"]),
      stacks: this.#dice.one([null, ["blue"], ["green"]]),
      programs: programs.filter(() => this.#dice.chance(0.6)),
    };
    const found = this.#drawn.both.snapshot().runs.filter(({ attributes }) => Object.keys(attributes ?? {}).length > 0);
    const again = found.length > 0 && this.#dice.chance(0.6);
    const change = { runId: again ? this.#dice.one(found).id : this.#drawn.runId(), attributes: this.#attributes() };
    const output = {
      env: query.env,
      key: this.#dice.one(["o-1", "o-2", "o-3", ""]),
      runId: this.#drawn.runId(),
      call: this.#dice.one(["c", "d"]),
      keepMs: this.#dice.one([0, 20, 600_000, 600_000]),
    };
    const second = this.#dice.one(["c", "d"]);
    const nowhere = { env: "test", scope: "s", key: "none" };
    const key = keyed.length > 0 && this.#dice.chance(0.8) ? this.#dice.one(keyed) : nowhere;
    return this.#dice.pick<Step>([
      [4, step("expireDeferred", (store) => store.runs.expireDeferred({ env: query.env, limit }))],
      [10, step("setAttributes", (store) => store.runs.setAttributes(change))],
      [
        4,
        step("takeOutput", async (store) => {
          await store.runs.takeOutput(output);
          return store.runs.takeOutput({ ...output, call: second });
        }),
      ],
      [4, step("findKey", (store) => store.runs.findKey(key))],
      [3, step("keyOf", (store) => store.runs.keyOf(runId))],
      [4, step("unservedGroups", async (store) => (await store.runs.unservedGroups(query)).map(({ group }) => group))],
    ]);
  }

  #attributes(): Record<string, string | number | null> {
    const names = this.#dice.many(3, 8, () => this.#dice.one([..."abcdefghijklmnop"]));
    return Object.fromEntries(names.map((name) => [name, this.#dice.one(["eu", "us", 1, 1, 2, 3, null])]));
  }

  mode(): Step {
    const { nodes } = this.#drawn;
    const incarnation = nodes.length > 0 ? this.#dice.one(nodes.slice(-4)) : this.#dice.uuid();
    const program = this.#dice.one(["a", "b"]);
    const mode = this.#dice.one(["full", "trigger_only", "disabled"] as const);
    const change = this.#dice.pick<ModeChange>([
      [3, { set: mode }],
      [4, { override: program, mode }],
      [2, { clear: program }],
      [1, { clearAll: true }],
      [2, { drain: this.#dice.one(["stay", "exit"] as const) }],
    ]);
    const options = { keep: this.#dice.chance(0.4), by: this.#dice.chance(0.1) ? "" : "me" };
    const claims = GROUPS.map((_, i) => i).filter(() => this.#dice.chance(0.4));
    return this.#dice.pick<Step>([
      [4, step("nodes.changeMode", (store) => store.nodes.changeMode(incarnation, change, options))],
      [
        2,
        step("nodes.claimsFrom", (store, ids) =>
          store.nodes.claimsFrom(
            incarnation,
            claims.map((i) => ids[i]!),
          ),
        ),
      ],
    ]);
  }
}
