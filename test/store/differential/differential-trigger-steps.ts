// Draws operations on what starts runs: events that are gathered, breakers, schedules.

import type { KeyLifetime, RunGroup } from "../../../src/kernel/run/new-run.js";
import type {
  EventToMatch,
  EventToStart,
  NewDebounced,
  StartAnswer,
} from "../../../src/store/contract/event/events.js";
import type { Fire, FireAnswer } from "../../../src/store/contract/schedule/schedules.js";
import type { Dice } from "./dice.js";
import { type Drawer, GROUPS, type Held, type Step, step } from "./differential-step.js";
import type { BothStores } from "./differential-stores.js";
import type { Snapshot } from "./snapshot-memory.js";

export class TriggerSteps {
  readonly #dice: Dice;
  readonly #both: BothStores;
  readonly #drawn: Drawer;
  #lastStarted: readonly EventToStart[] = [];
  #gatherings = 0;
  #lastGathered: readonly NewDebounced[] = [];

  constructor(drawn: Drawer) {
    this.#dice = drawn.dice;
    this.#both = drawn.both;
    this.#drawn = drawn;
  }

  /** Few subjects and short windows, so that events meet the claim of the run before them. */
  event(): Step {
    const declared = GROUPS.flatMap(({ env, stack, queue, program, version }) =>
      this.#dice
        .many(0, 2, () => ({ env, stack, queue, program, version }))
        .map((one, i) => ({
          ...one,
          id: `${program} on ${i}`,
          // Of the first, the same in both stacks.
          scope: i === 0 ? "on 0" : `${program} on ${i}`,
          event: this.#dice.one(["x", "y"]),
          where: this.#dice.one([[], [{ a: 1 }], [{ a: 1, b: { c: "d" } }, { a: 2 }]]),
          subject: null,
          debounceMs: this.#dice.one([null, 20]),
          lifetime: this.#dice.one<KeyLifetime>(["live", "archived", { forMs: 50 }]),
          crashLimit: this.#dice.int(1, 3),
          breaker: this.#dice.one([null, { threshold: 2, halfOpenMs: 50 }]),
        })),
    );
    const env = this.#dice.one(["test", "other"]);
    const mine = [...new Map(declared.filter((one) => one.env === env).map((one) => [one.id, one])).values()];
    const incarnation = this.#drawn.nodes.length > 0 ? this.#dice.one(this.#drawn.nodes.slice(-4)) : this.#dice.uuid();
    const declaration = { incarnation, env, subscriptions: mine, starting: this.#dice.chance(0.6) };
    const plains = ["{}", '{"a":1}', '{"a":2,"b":{"c":"d"}}', '{"a":1,"b":{"c":"d","e":[1]}}'];
    const events = this.#dice.many(1, 3, () => ({
      ...this.#dice.one([
        { env: "test", stack: null },
        { env: "test", stack: "blue" },
        { env: "other", stack: null },
      ]),
      event: this.#dice.one(["x", "y", "z"]),
      plain: this.#dice.one(plains),
    }));
    const repeated = this.#lastStarted.length > 0 && this.#dice.chance(0.2);
    const started = repeated ? this.#lastStarted : this.#toStart(events);
    this.#lastStarted = started;
    const again = this.#lastGathered.length > 0 && this.#dice.chance(0.1);
    const gathered = again ? this.#lastGathered : this.#dice.many(1, 3, () => this.#gathered());
    this.#lastGathered = gathered;
    return this.#dice.pick<Step>([
      [7, step("events.subscribe", (store) => store.events.subscribe(declaration))],
      [1, step("events.subscriptions", (store) => store.events.subscriptions(env))],
      [2, step("events.match", (store) => store.events.match(events))],
      [
        5,
        step(
          "events.start",
          (store) => store.events.start(started),
          (answers) => this.#learn(answers),
        ),
      ],
      [5, this.#gather(gathered)],
      [6, () => this.#settleDebounced()],
    ]);
  }

  /** Few keys, so that they meet those of others, and those of runs that have ended. */
  #toStart(events: readonly EventToMatch[]): EventToStart[] {
    return events.map((event) => {
      const { input } = this.#drawn.newRun();
      const key = this.#dice.chance(0.03) ? "" : this.#dice.one(["k1", "k2", "k3"]);
      return { ...event, id: this.#dice.uuid(), key, payloadHash: this.#dice.one(["h1", "h2"]), input };
    });
  }

  #learn(answers: readonly StartAnswer[]): void {
    for (const answer of answers) {
      if (answer.outcome === "started") this.#drawn.runIds.push(...answer.runs.map(({ runId }) => runId));
    }
  }

  /** Every third time as what an event starts, which draws nothing. */
  #gather(gathered: readonly NewDebounced[]): Step {
    const events = gathered.map((one) => ({ runs: [], debounced: [one] }));
    return this.#gatherings++ % 3 === 0
      ? step("events.accept", (store) => store.events.accept(events))
      : step("events.debounce", (store) => store.events.debounce(gathered));
  }

  #gathered(): NewDebounced {
    const { key: _key, parentId: _parent, ...run } = this.#drawn.newRun();
    const windowMs = this.#dice.one([0, 5, 40]);
    const subject = this.#dice.chance(0.03) ? "" : this.#dice.one(["a", "b"]);
    const id = this.#dice.uuid();
    this.#drawn.runIds.push(id);
    return { run: { ...run, id }, ticket: { subscription: "a on 0", subject, windowMs } };
  }

  /** Mostly of a run that gathers, when one is held. */
  #settleDebounced(): Step {
    const gathering = this.#drawn.held.filter(({ debounce }) => debounce).slice(-3);
    const nobody = { claim: { runId: this.#drawn.runId(), epoch: 1, token: this.#dice.uuid() }, seq: 1 };
    const held: Held = gathering.length > 0 && this.#dice.chance(0.9) ? this.#dice.one(gathering) : nobody;
    const { claim, seq } = held;
    const known = held.debounce ?? { subscription: "a on 0", subject: "a", windowMs: 5 };
    // Another event makes the window longer.
    const ticket = this.#dice.chance(0.6) ? { ...known, windowMs: known.windowMs + 100 } : known;
    return step("events.settleDebounced", (store) => store.events.settleDebounced(claim, seq, ticket));
  }

  breaker(): Step {
    const { env, program } = this.#dice.one(GROUPS);
    const question = { env, program, threshold: this.#dice.int(0, 3), halfOpenMs: this.#dice.one([0, 50]) };
    const [run] = this.#both.snapshot().runs;
    const probe = {
      env,
      program,
      opening: run ? `${run.id}:0` : "x",
      probe: this.#dice.int(1, 2),
      runId: this.#drawn.runId(),
    };
    const runId = this.#drawn.runId();
    return this.#dice.pick<Step>([
      [4, step("breakers.read", (store) => store.breakers.read([question]))],
      [5, step("breakers.takeProbe", (store) => store.breakers.takeProbe(probe))],
      [1, step("breakers.isProbe", (store) => store.breakers.isProbe(runId))],
    ]);
  }

  schedule(): Step {
    const of = this.#dice.one(GROUPS);
    const { env } = of;
    const rows = this.#both.snapshot().schedules;
    const name = this.#dice.chance(0.5) || rows.length === 0 ? of.program : this.#dice.one(rows).id;
    const ids = rows.map(({ id }) => id).filter(() => this.#dice.chance(0.7));
    return this.#dice.pick<Step>([
      [4, () => this.#declare(of)],
      [7, () => this.#fire(rows)],
      [2, step("schedules.due", (store) => store.schedules.due(ids))],
      [1, step("schedules.list", (store) => store.schedules.list(env))],
      [1, step("schedules.pause", (store) => store.schedules.pause(env, name, "me"))],
      [1, step("schedules.resume", (store) => store.schedules.resume(env, name))],
    ]);
  }

  #declare({ env, stack, ...of }: RunGroup): Step {
    const group = { ...of, env, stack, version: this.#dice.one([null, "1", "2"]) };
    const schedules = ["every 1s", "every 2s", "every 3s"]
      .filter(() => this.#dice.chance(0.6))
      .map((key) => ({ id: this.#dice.uuid(), group, key, spec: String(this.#dice.int(0, 3)) }));
    if (this.#dice.chance(0.15) && schedules[0]) schedules.push(schedules[0]);
    const removeAfterMs = this.#dice.one([null, null, 0, 60, 600]);
    const declaration = { env, stack, programs: [of.program], schedules, removeAfterMs };
    return step("schedules.declare", (store) => store.schedules.declare(declaration));
  }

  /** Mostly from where the schedule is, sometimes from where it was. */
  #fire(rows: Snapshot["schedules"]): Step {
    const fires = rows
      .filter(() => this.#dice.chance(0.5))
      .map(({ id, last, group }): Fire => {
        const runs = this.#dice.many(0, 2, () => ({ ...this.#drawn.newRun(), key: this.#drawn.newKey() }));
        const window = last + this.#dice.int(0, 50);
        const next = this.#dice.chance(0.1) ? null : window + this.#dice.int(0, 200);
        const fire = { scheduleId: id, seenLast: this.#dice.chance(0.8) ? last : last - 1, last: window, next, runs };
        const tries = runs[0] && this.#dice.chance(0.3) ? { runId: runs[0].id, n: this.#dice.int(1, 3) } : null;
        if (!tries) return fire;
        const opening = this.#dice.one(["x", "y"]);
        return {
          ...fire,
          probe: { env: group.env, program: group.program, opening, probe: tries.n, runId: tries.runId },
        };
      });
    const learn = (answers: readonly FireAnswer[]) => {
      for (const answer of answers) if (answer.outcome === "fired") this.#drawn.runIds.push(...answer.runIds);
    };
    return step("schedules.fire", (store) => store.schedules.fire(fires), learn);
  }
}
