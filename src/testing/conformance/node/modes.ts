// Modes of nodes, and runs that one node starts for others to execute.

import type { ModeChange } from "../../../kernel/node-mode.js";
import type { NodeRegistration } from "../../../store/contract/node/nodes.js";
import { DEFERRED_EXPIRED } from "../../../store/contract/run/runs.js";
import { cases } from "../case.js";
import { holds, matches, same, some } from "../expect.js";
import { LONG_MS, PAST_MS, payload, type Scene, SHORT_MS } from "../scene.js";

async function register(s: Scene, options: Partial<NodeRegistration> = {}) {
  const node = { incarnation: s.token(), identity: "host-1", name: "one", env: s.env, stack: null, build: null };
  const registered = { ...node, ...options };
  const answer = await s.store.nodes.register(registered);
  return { ...registered, state: answer.outcome === "registered" ? answer.mode : null };
}

const change = (s: Scene, incarnation: string, what: ModeChange, keep = false) =>
  s.store.nodes.changeMode(incarnation, what, { keep, by: "me" });

const house = (s: Scene, incarnation: string) => s.store.housekeep(s.witness(incarnation));

const deferred = { by: "host-1", expiresInMs: SHORT_MS };

export const modeCases = cases("modes", {
  "a node starts in the mode it was given, and housekeeping returns it": async (s) => {
    const { incarnation, state } = await register(s, { mode: "trigger_only" });
    const expected = { mode: "trigger_only", overrides: {}, drain: null };
    same(state, expected, "answer");
    matches(await house(s, incarnation), { mode: expected } as never, "report");
    matches((await s.store.nodes.list({ env: s.env }))[0], expected as never, "record");
  },

  "each change changes what it names": async (s) => {
    const { incarnation } = await register(s);
    const steps: [ModeChange, object][] = [
      [
        { override: "a", mode: "full" },
        { mode: "full", overrides: { a: "full" }, drain: null },
      ],
      [{ override: "b", mode: "disabled" }, { overrides: { a: "full", b: "disabled" } }],
      [{ set: "trigger_only" }, { mode: "trigger_only", overrides: { a: "full", b: "disabled" } }],
      [{ drain: "stay" }, { mode: "trigger_only", drain: "stay" }],
      [
        { override: "a", mode: "trigger_only" },
        { overrides: { a: "trigger_only", b: "disabled" }, drain: "stay" },
      ],
      [{ clear: "a" }, { overrides: { b: "disabled" } }],
      [{ clear: "unknown" }, { overrides: { b: "disabled" } }],
      [{ clearAll: true }, { overrides: {}, drain: "stay" }],
      [{ drain: "exit" }, { drain: "exit" }],
      [{ set: "full" }, { mode: "full", drain: null }],
    ];
    for (const [what, expected] of steps) {
      const answer = await change(s, incarnation, what);
      matches(answer, expected as never, JSON.stringify(what));
      same((await house(s, incarnation)).mode, answer, "what housekeeping returns");
    }
  },

  "the mode of an unknown node cannot be changed": async (s) => {
    same(await change(s, s.token(), { set: "disabled" }), null, "unknown");
    const { incarnation } = await register(s);
    await s.store.nodes.stop(incarnation);
    same(await change(s, incarnation, { set: "disabled" }), null, "stopped");
    same((await house(s, incarnation)).mode, null, "report");
  },

  "a change that is kept holds for later starts of the identity, another does not": async (s) => {
    const { incarnation } = await register(s);
    await change(s, incarnation, { override: "a", mode: "disabled" }, true);
    await change(s, incarnation, { set: "disabled" });
    await change(s, incarnation, { drain: "exit" });
    const kept = { mode: "full", overrides: { a: "disabled" }, drain: null };
    same((await register(s, { mode: "trigger_only" })).state, kept, "the same identity");
    same((await register(s, { identity: "host-2" })).state, { mode: "full", overrides: {}, drain: null }, "another");
    const elsewhere = await register(s, { env: `${s.env}-b` });
    same(elsewhere.state, { mode: "full", overrides: {}, drain: null }, "another env");
  },

  "a node in full mode claims from all it serves; in another mode it declares from which": async (s) => {
    const groups = [s.group({ program: "a" }), s.group({ program: "b" })];
    const serves = await s.store.runs.groupIds(groups);
    const full = await register(s, { serves });
    const other = await register(s, { serves, mode: "trigger_only" });
    const claims = async (incarnation: string) =>
      (await s.store.nodes.list({ env: s.env })).find((node) => node.incarnation === incarnation)?.claims;
    same(await claims(full.incarnation), groups, "full");
    same(await claims(other.incarnation), [], "trigger_only");
    await s.store.nodes.claimsFrom(other.incarnation, [serves[1]!]);
    same(await claims(other.incarnation), [groups[1]], "told");
  },
});

export const deferredCases = cases("deferred runs", {
  "a deferred run shows who asked, and who took it first": async (s) => {
    const run = await s.insert({ deferred: { by: "host-1", expiresInMs: LONG_MS } });
    const before = some((await s.run(run.id)).deferred, "deferral");
    matches(before, { by: "host-1", takenBy: null, takenAt: null }, "pending");
    holds(some(before.expiresAt, "expiry") > (await s.run(run.id)).createdAt, "it expires later");
    const claim = await s.claimOne({ leaseMs: SHORT_MS });
    same(claim.deferredBy, "host-1", "claim");
    await s.advance(PAST_MS);
    await s.store.runs.reclaimExpired({ env: s.env, limit: 1000 });
    await s.claimOne({ owner: s.token() });
    const after = some((await s.run(run.id)).deferred, "deferral");
    same([after.takenBy, after.takenAt !== null], [s.owner, true], "taken");
  },

  "an ordinary run has none": async (s) => {
    same((await s.run((await s.insert()).id)).deferred, null, "deferral");
    same((await s.claimOne()).deferredBy, null, "claim");
  },

  "a deferred run that no node claimed in time is cancelled, with the reason": async (s) => {
    const run = await s.insert({ deferred });
    same(await expired(s, run.id), false, "before its time");
    await s.advance(PAST_MS);
    same((await house(s, s.token())).overdue, true, "housekeeping says so");
    const over = await s.store.runs.expireDeferred({ env: s.env, limit: 1000 });
    const { program, stack } = run.group;
    same(
      over.find(({ runId }) => runId === run.id),
      { runId: run.id, program, stack, by: deferred.by },
      "after its time",
    );
    matches(await s.run(run.id), { state: "cancelled", seq: 2 }, "record");
    const { entries } = some(await s.store.journal.read(run.id, { after: 1 }), "journal");
    same(entries[0]?.payload, payload(DEFERRED_EXPIRED), "reason");
    same(await s.claim(), [], "claims");
    same(await expired(s, run.id), false, "once");
  },

  "of those that expire at one instant the one with the smaller id goes first": async (s) => {
    const pair = [s.newRun({ deferred }), s.newRun({ deferred })];
    const ids = pair.map(({ id }) => id).sort();
    await s.store.runs.insert(pair[0]!.id === ids[0] ? pair.toReversed() : pair);
    await s.advance(PAST_MS);
    const gone: string[] = [];
    // Others may have left some of theirs.
    for (let i = 0; i < 1000 && gone.length < 2; i++) {
      const over = await s.store.runs.expireDeferred({ env: s.env, limit: 1 });
      gone.push(...over.flatMap(({ runId }) => (ids.includes(runId) ? runId : [])));
    }
    same(gone, ids, "in turn");
  },

  "one that was taken does not expire, nor one that never does": async (s) => {
    const taken = await s.start({ deferred });
    const never = await s.insert({ deferred: { by: "host-1", expiresInMs: null } });
    await s.advance(PAST_MS);
    same([await expired(s, taken.runId), await expired(s, never.id)], [false, false], "expired");
    same((await s.run(taken.runId)).state, "running", "state");
  },

  "its time counts from when it could begin": async (s) => {
    const run = await s.insert({ deferred, delayMs: LONG_MS });
    await s.advance(PAST_MS);
    same(await expired(s, run.id), false, "expired");
  },

  "one with a key and a limit is noted as well": async (s) => {
    const limits = [{ kind: "slots", key: "k", max: 1 } as const];
    const run = await s.insert({ deferred, limits, key: s.newKey() });
    matches((await s.run(run.id)).deferred, { by: "host-1" }, "deferral");
    same(await s.store.runs.keyOf(run.id), { scope: "work", key: "k" }, "key");
    await s.advance(PAST_MS);
    same(await expired(s, run.id), true, "expired");
  },

  "in a transaction it is noted when that commits": async (s) => {
    const [kept, gone] = [s.newRun({ deferred }), s.newRun({ deferred })];
    await s.transaction("commit", (tx) => s.store.runs.insert([kept], { tx }));
    await s.transaction("rollback", (tx) => s.store.runs.insert([gone], { tx }));
    matches((await s.run(kept.id)).deferred, { by: "host-1" }, "committed");
    same(await s.store.runs.get(gone.id), null, "rolled back");
  },

  "pruning takes the note away with the run": async (s) => {
    const run = await s.insert({ deferred });
    await s.store.runs.cancel(run.id, { by: "me" });
    await s.advance(1);
    same(await s.store.runs.prune({ env: s.env, endedBeforeMs: 0, limit: 10 }), 1, "pruned");
    await s.store.runs.insert([{ ...run, deferred: { by: "host-2", expiresInMs: null } }]);
    matches((await s.run(run.id)).deferred, { by: "host-2", takenBy: null }, "a new one under the id");
  },

  "groups of other stacks are offered that no live node of theirs takes": async (s) => {
    const group = (stack: string | null, program = "work") => s.group({ stack, program });
    const all = [group("blue"), group("green"), group(null), group("blue", "other"), { ...group("red"), env: "x" }];
    const ids = await s.store.runs.groupIds(all);
    const query = {
      env: s.env,
      own: "mine",
      stacks: null,
      programs: [{ queue: "work", program: "work", version: null }],
    };
    const offered = async (more: object = {}) =>
      (await s.store.runs.unservedGroups({ ...query, ...more })).map(({ id, group: { stack } }) => [id, stack]);
    same(
      await offered(),
      [
        [ids[0], "blue"],
        [ids[1], "green"],
      ],
      "all stacks",
    );
    same(await offered({ stacks: ["green", "red"] }), [[ids[1], "green"]], "one of them");
    same(await offered({ own: "blue" }), [[ids[1], "green"]], "not one's own");
    const node = await register(s, { stack: "green", serves: [ids[1]!], heartbeatMs: LONG_MS });
    same(await offered(), [[ids[0], "blue"]], "green has a node");
    await s.store.nodes.claimsFrom(node.incarnation, []);
    same((await offered()).length, 2, "which takes nothing now");
  },
});

async function expired(s: Scene, runId: string): Promise<boolean> {
  return (await s.store.runs.expireDeferred({ env: s.env, limit: 1000 })).some((one) => one.runId === runId);
}
