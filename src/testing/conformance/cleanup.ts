// Clean-up: rows that nothing needs any more are removed, in batches; what is still needed stays, and lease epochs
// never fall.

import type { Effect } from "../../kernel/run/effect.js";
import type { CleanPart, CleanRound } from "../../store/contract/cleanup.js";
import type { NodeRegistration } from "../../store/contract/node/nodes.js";
import { cases } from "./case.js";
import { ConformanceFailure, holds, matches, rejects, same, some } from "./expect.js";
import { append, complete, fail, handBack, LONG_MS, PAST_MS, payload, type Scene, SHORT_MS, take } from "./scene.js";

const continueAsNew = (input: unknown): Effect => ({ kind: "continue", input: payload(input), reopen: [] });

function clean(s: Scene, part: CleanPart, options: Partial<CleanRound> = {}) {
  return s.store.cleanUp({ part, env: s.env, everyMs: 0, keepMs: 0, limit: 1000, ...options });
}

async function removed(s: Scene, part: CleanPart, options: Partial<CleanRound> = {}): Promise<number> {
  await s.advance(2);
  return some(await clean(s, part, options), "its turn").removed;
}

async function register(s: Scene): Promise<NodeRegistration> {
  const node = { incarnation: s.token(), identity: "host-1", name: "one", env: s.env, stack: null, build: null };
  await s.store.nodes.register(node);
  return node;
}

const generations = {
  "entries of past generations are removed, and the run continues": async (s: Scene) => {
    const first = await s.start();
    await s.accept(first, [append("a"), append("b"), continueAsNew(1)]);
    same(await removed(s, "generations"), 3, "start, a and b");
    same(await removed(s, "generations"), 0, "a second time");
    same(await s.log(first.runId), ["start"], "log");
    const second = await s.claimOne();
    matches(second, { seq: 4, baseSeq: 3, generation: 1 }, "claim");
    same(second.input, payload(1), "input");
    await s.accept(second, [append("c"), complete]);
    same(await removed(s, "generations"), 0, "of the current generation");
    same(await s.log(first.runId), ["start", "step", "completed"], "log");
  },

  "a run whose generations all passed keeps its end and can be retried from the start": async (s: Scene) => {
    const first = await s.start();
    await s.accept(first, [continueAsNew("last")]);
    await s.accept(await s.claimOne(), [append("a"), fail()]);
    same(await removed(s, "generations"), 1, "removed");
    const [end] = await s.store.runs.glance([first.runId]);
    matches(some(end, "glance"), { state: "failed", seq: 4 }, "end");
    await s.store.runs.retry([first.runId], { by: "ann", callId: s.token(), fromStart: true });
    same((await s.claimOne()).input, payload("last"), "input");
    same(await removed(s, "generations"), 3, "the generation that failed");
  },

  "a run that is inserted again after its first entry was removed gets no other one": async (s: Scene) => {
    for (const limits of [[], [{ kind: "slots", key: "few", max: 1 }]] as const) {
      const run = s.newRun({ limits });
      await s.store.runs.insert([run]);
      await s.store.runs.admit({ runIds: [run.id] });
      await s.accept(await s.claimOne(), [continueAsNew(1)]);
      same(await removed(s, "generations"), 1, "start");
      await s.store.runs.insert([run]);
      await s.store.runs.admit({ runIds: [run.id] });
      await s.accept(await s.claimOne(), [append("a"), continueAsNew(2)]);
      same(await removed(s, "generations"), 2, "the second start and a");
      await s.accept(await s.claimOne(), [complete]);
    }
  },

  "what is younger, another env's or beyond the limit stays for later": async (s: Scene) => {
    const other = await s.start();
    await s.accept(other, [append("a"), append("b"), append("c"), continueAsNew(1)]);
    same(await removed(s, "generations", { keepMs: LONG_MS }), 0, "young ones");
    same(await removed(s, "generations", { env: `${s.env}-other` }), 0, "of another env");
    await s.advance(2);
    same(await clean(s, "generations", { limit: 3 }), { removed: 3, more: true }, "a full batch");
    same(await clean(s, "generations", { limit: 3 }), { removed: 1, more: false }, "the rest");
    same(await clean(s, "generations", { limit: 0 }), { removed: 0, more: false }, "nothing asked for");
  },

  "restarts after crashes stay counted (S17)": async (s: Scene) => {
    const group = s.group();
    await s.declare([{ group, limits: [], recovery: "restart" }]);
    const first = await s.start({ crashLimit: 3 });
    await s.accept(first, [append("before"), continueAsNew(1)]);
    const outcomes: string[] = [];
    for (let crash = 0; crash < 4 && outcomes.at(-1) !== "dead"; crash++) {
      const [claim] = await s.claim({ leaseMs: SHORT_MS });
      await s.accept(some(claim, "claim"), [append("progress")]);
      await s.advance(PAST_MS);
      const swept = await s.store.runs.reclaimExpired({ env: s.env, limit: 1000 });
      outcomes.push(...swept.filter(({ runId }) => runId === first.runId).map(({ outcome }) => outcome));
      await removed(s, "generations");
    }
    same(outcomes, ["restarted", "restarted", "dead"], "outcomes");
  },
};

const messages = {
  "messages of past generations are removed, except those that may be sent again (S12)": async (s: Scene) => {
    const first = await s.start();
    const [drawn, named, unread] = [
      s.message(first.runId),
      s.message(first.runId, { key: "signal:mine" }),
      s.message(first.runId),
    ];
    await s.store.inbox.send([drawn, named]);
    await s.accept(first, [take(drawn.key), take(named.key), continueAsNew(1)]);
    await s.store.inbox.send([unread]);
    same(await removed(s, "generations"), 4, "three entries and the message with a key of its own");
    same(await s.unreadKeys(first.runId), [unread.key], "unread");
    const again = s.message(first.runId, { key: named.key });
    same((await s.store.inbox.send([again]))[0]?.outcome, "already", "sent again");
    const second = await s.claimOne();
    await s.accept(second, [take(unread.key), complete]);
    same(await removed(s, "generations"), 0, "of the current generation");
  },
};

const leases = {
  "a lease that is removed comes back with a higher epoch, and its old fences stay refused": async (s: Scene) => {
    const request = { env: s.env, key: "export", owner: "one", leaseMs: SHORT_MS };
    const epochs: number[] = [];
    for (let round = 0; round < 3; round++) {
      await s.store.leases.acquire({ ...request, token: s.token() });
      await s.advance(PAST_MS);
      const token = s.token();
      const stolen = await s.store.leases.acquire({ ...request, token });
      if (stolen.outcome === "busy") throw new ConformanceFailure("acquire", stolen, "a lease");
      epochs.push(stolen.lease.epoch);
      same(await removed(s, "leases"), 0, "one that is held");
      await s.advance(PAST_MS);
      same(await removed(s, "leases", { keepMs: LONG_MS }), 0, "one that expired just now");
      same(await removed(s, "leases"), 1, "one that expired");
      same(await s.store.leases.get(s.env, "export"), null, "record");
      const fence = { env: s.env, key: "export", epoch: stolen.lease.epoch, token };
      same(await s.store.leases.renew(fence, LONG_MS), false, "renew");
      same(await s.store.leases.complete(fence), false, "complete");
    }
    for (const [i, epoch] of epochs.entries()) holds(i === 0 || epoch > epochs[i - 1]! + 1, `epoch ${epochs.join()}`);
    const other = await s.store.leases.acquire({ ...request, key: "another", token: s.token() });
    holds(other.outcome === "acquired" && other.lease.attempt === 1, "a key that is new");
  },

  "finished leases are removed, too, and those of another env are not": async (s: Scene) => {
    const token = s.token();
    const lease = await s.store.leases.acquire({ env: s.env, key: "a", owner: "one", token, leaseMs: LONG_MS });
    if (lease.outcome === "busy") throw new ConformanceFailure("acquire", lease, "a lease");
    same(await removed(s, "leases"), 0, "held");
    await s.store.leases.complete({ env: s.env, key: "a", epoch: lease.lease.epoch, token });
    same(await removed(s, "leases", { env: `${s.env}-other` }), 0, "of another env");
    same(await removed(s, "leases"), 1, "finished");
  },
};

const others = {
  "nodes that stopped are removed; one that lives or still holds a run is not": async (s: Scene) => {
    const [live, stopped, holder] = [await register(s), await register(s), await register(s)];
    const claim = await s.start({}, { owner: holder.incarnation });
    await s.store.nodes.stop(stopped.incarnation);
    await s.store.nodes.stop(holder.incarnation);
    same(await removed(s, "nodes", { keepMs: LONG_MS }), 0, "stopped just now");
    same(await removed(s, "nodes"), 1, "the one that stopped");
    await s.accept(claim, [handBack]);
    same(await removed(s, "nodes"), 1, "the one that held a run");
    const left = await s.store.nodes.list({ env: s.env, stopped: true });
    same(
      left.map(({ incarnation }) => incarnation),
      [live.incarnation],
      "left",
    );
  },

  "a part that a node of the env did lately is not done again": async (s: Scene) => {
    same(await clean(s, "nodes", { everyMs: LONG_MS }), { removed: 0, more: false }, "the first");
    same(await clean(s, "nodes", { everyMs: LONG_MS }), null, "the second");
    same(await clean(s, "leases", { everyMs: LONG_MS }), { removed: 0, more: false }, "another part");
    same(
      await clean(s, "nodes", { everyMs: LONG_MS, env: `${s.env}-other` }),
      { removed: 0, more: false },
      "another env",
    );
    await s.advance(PAST_MS);
    same(await clean(s, "nodes", { everyMs: SHORT_MS }), { removed: 0, more: false }, "after that time");
  },

  "rates that have passed are removed": async (s: Scene) => {
    const limits = [{ kind: "rate", key: "calls", max: 1, perMs: SHORT_MS } as const];
    await s.insert({ limits });
    await s.advance(PAST_MS);
    same(await removed(s, "rates", { env: `${s.env}-other` }), 0, "of another env");
    same(await removed(s, "rates"), 1, "removed");
    same(await removed(s, "rates"), 0, "again");
  },

  "a gathered event whose run was cancelled is removed, one that still gathers is not": async (s: Scene) => {
    const gathered = (subject: string) => {
      return { run: s.newRun(), ticket: { subscription: "work on updated", subject, windowMs: LONG_MS } };
    };
    const [live, cancelled] = [gathered('"a"'), gathered('"b"')];
    await s.store.events.debounce([live, cancelled]);
    same(await removed(s, "debounces"), 0, "both gather");
    await s.store.runs.cancel(cancelled.run.id, { by: "ann" });
    same(await removed(s, "debounces", { keepMs: LONG_MS }), 0, "cancelled just now");
    same(await removed(s, "debounces", { env: `${s.env}-other` }), 0, "of another env");
    same(await removed(s, "debounces"), 1, "cancelled");
    const again = { ...gathered('"a"'), run: s.newRun() };
    same(await s.store.events.debounce([again]), [{ outcome: "gathered", runId: live.run.id }], "the other gathers on");
  },

  "a round that is none is refused": async (s: Scene) => {
    for (const odd of [
      { part: "none" },
      { keepMs: undefined },
      { everyMs: -1 },
      { keepMs: Number.NaN },
      { limit: 0.5 },
      { env: "a\0b" },
    ]) {
      await rejects(clean(s, "nodes", odd as Partial<CleanRound>), JSON.stringify(odd));
    }
  },
};

/** Last of all: the epochs of leases begin higher once some were removed. */
export const cleanupCases = cases("clean-up", { ...generations, ...messages, ...leases, ...others });
