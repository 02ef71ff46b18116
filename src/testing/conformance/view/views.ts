// Views over many runs: counts with a bound, outlines without payloads, open questions, reclaimed claims, leases, timers, limits.

import { omit } from "../../../kernel/omit.js";
import type { Effect } from "../../../kernel/run/effect.js";
import type { OutlineRequest, ViewPage } from "../../../store/contract/view/views.js";
import { cases } from "../case.js";
import { holds, matches, rejects, same, some } from "../expect.js";
import { claim as claimTimers, created, timer } from "../machine/machine-family.js";
import { append, complete, fail, LONG_MS, PAST_MS, park, payload, SHORT_MS, take } from "../scene.js";

const ask = (name: string, nth: string): Effect => ({
  kind: "append",
  entry: { kind: "approval.begun", name, key: nth, payload: payload({ ask: `${name}?` }) },
});

/** All rows, read one by one. */
async function paged<Row>(read: (after: string | undefined) => Promise<ViewPage<Row>>): Promise<Row[]> {
  const rows: Row[] = [];
  let after: string | undefined;
  do {
    const page = await read(after);
    same(page.rows.length <= 1, true, "rows of a page of one");
    rows.push(...page.rows);
    after = page.next ?? undefined;
  } while (after !== undefined);
  return rows;
}

const place = (after: string | undefined) => ({ limit: 1, ...(after !== undefined && { after }) });

export const viewCases = cases("views", {
  "many runs at once, in the order asked for, with the clock": async (s) => {
    const [a, b] = [await s.insert(), await s.insert({ group: { program: "other" } })];
    const { now, runs } = await s.store.views.runs([b.id, s.id(), a.id, "no id"]);
    same(runs, [await s.run(b.id), null, await s.run(a.id), null], "runs");
    holds(now >= (await s.run(b.id)).createdAt, "the clock");
    same((await s.store.views.runs([])).runs, [], "none");
  },

  "a count stops at its bound": async (s) => {
    await s.store.runs.insert([s.newRun(), s.newRun(), s.newRun({ group: { program: "other" } })]);
    const count = (most: number, program?: string) =>
      s.store.views.count({ env: s.env, ...(program !== undefined && { program }) }, most);
    same(await count(3), { n: 3, atLeast: false }, "just enough");
    same(await count(2), { n: 2, atLeast: true }, "more");
    same(await count(10, "other"), { n: 1, atLeast: false }, "of a program");
    same(await s.store.views.count({ env: s.env, states: ["failed"] }, 10), { n: 0, atLeast: false }, "of a state");
    await rejects(count(0), "no bound");
  },

  "runs are filtered by the time in their ids and by their owner": async (s) => {
    const [early, late] = [await s.insert(), await s.insert()];
    const at = Number.parseInt(late.id.replaceAll("-", "").slice(0, 12), 16);
    const ids = async (filter: object) =>
      (await s.store.runs.list({ env: s.env, ...filter }, { limit: 10 })).runs.map(({ id }) => id);
    same(await ids({ from: at + 1 }), [], "after both");
    same(await ids({ to: at - 60_000 }), [], "before both");
    same(await ids({ from: at - 60_000, to: at + 1 }), [late.id, early.id], "around both");
    const claim = await s.claimOne({ limit: 1 });
    same(await ids({ owner: s.owner }), [claim.runId], "held");
    same(await ids({ owner: s.token() }), [], "held by another");
  },

  "an outline has entries without payloads, from either end": async (s) => {
    const claim = await s.start();
    await s.accept(claim, [append("a", "xyz"), append("b"), append("c"), complete]);
    const read = async (options: Partial<OutlineRequest> = {}) =>
      some((await s.store.views.outline([{ runId: claim.runId, limit: 100, ...options }]))[0], "outline");
    const names = async (options: Partial<OutlineRequest>) => (await read(options)).entries.map(({ seq }) => seq);
    const whole = await read();
    matches(whole, { state: "completed", seq: 5, baseSeq: 0, key: null }, "run");
    const { entries } = some(await s.store.journal.read(claim.runId), "journal");
    const expected = entries.map(({ payload: data, ...entry }) => {
      return { ...entry, bytes: data && Buffer.byteLength(data.data), codec: data?.codec ?? null };
    });
    same(whole.entries, expected, "entries");
    same(await names({ limit: 2 }), [1, 2], "the first");
    same(await names({ limit: 2, last: true }), [4, 5], "the last");
    same(await names({ after: 2, before: 5 }), [3, 4], "a range");
    same(await names({ after: 1, before: 5, limit: 1, last: true }), [4], "the last of a range");
    same(await names({ after: 5 }), [], "nothing more");
    const several = await s.store.views.outline([
      { runId: s.id(), limit: 1 },
      { runId: "no id", limit: 1 },
      { runId: claim.runId, limit: 1 },
    ]);
    same(
      several.map((one) => one?.entries.length ?? null),
      [null, null, 1],
      "several",
    );
  },

  "an outline has the key that the run holds": async (s) => {
    const key = { scope: "p", key: "k-1", payloadHash: "h", lifetime: "live", onMismatch: "skip" } as const;
    const { runId } = await s.start({ key });
    const [one] = await s.store.views.outline([{ runId, limit: 1 }]);
    same(one?.key, "k-1", "key");
  },

  "a question is open until a message decides it or its run ends": async (s) => {
    const first = await s.start();
    const afterAsk = await s.accept(first, [ask("ship", "1"), ask("ship", "2"), append("b")]);
    await s.accept(first, [park()], afterAsk);
    const second = await s.start();
    await s.accept(second, [ask("pay", "1"), park()]);
    const open = async () => {
      const rows = await paged((after) => s.store.views.questions({ env: s.env, ...place(after) }));
      return rows.map(({ runId, entry }) => [runId, entry.name, entry.key]);
    };
    const all = [
      [second.runId, "pay", "1"],
      [first.runId, "ship", "2"],
      [first.runId, "ship", "1"],
    ];
    same(await open(), all, "newest run first");
    const message = { key: "wait:ship:1", messageId: s.token(), kind: "decision" as const, name: "ship" };
    await s.store.inbox.send([{ ...message, runId: first.runId, payload: payload({}), sender: "ann" }]);
    same(await open(), [all[0], all[1]], "one is decided");
    const again = await s.claimOne();
    await s.accept(again, [take("wait:ship:1"), park({ seenInboxSeq: 1 })]);
    same(await open(), [all[0], all[1]], "and taken");
    await s.store.runs.cancel(second.runId, { by: "ann" });
    same(await open(), [all[1]], "one has ended");
    same((await s.store.views.questions({ env: "other", limit: 10 })).rows, [], "of another env");
  },

  "reclaimed claims, newest first": async (s) => {
    const { id } = await s.insert();
    for (let epoch = 1; epoch <= 2; epoch++) {
      await s.claimOne({ leaseMs: SHORT_MS });
      await s.advance(PAST_MS);
      await s.store.runs.reclaimExpired({ env: s.env, limit: 10 });
    }
    const rows = await paged((after) => s.store.views.takeovers({ env: s.env, ...place(after) }));
    const from = { incarnation: s.owner, identity: null, name: null };
    const row = { runId: id, program: "work", from, by: null, outcome: "waiting" as const };
    same(
      rows.map((one) => omit(one, "at")),
      [2, 1].map((epoch) => ({ ...row, epoch })),
      "takeovers",
    );
    same((await s.store.views.takeovers({ env: "other", limit: 10 })).rows, [], "of another env");
  },

  "leases by key, without tokens": async (s) => {
    const acquire = (key: string, leaseMs: number) =>
      s.store.leases.acquire({ env: s.env, key, owner: "me", token: s.token(), leaseMs });
    for (const key of ["b", "a", "B"]) await acquire(key, LONG_MS);
    await acquire("a2", SHORT_MS);
    await s.advance(PAST_MS);
    const rows = await paged((after) => s.store.views.leases({ env: s.env, ...place(after) }));
    same(
      rows.map(({ key, state }) => [key, state]),
      [
        ["B", "claimed"],
        ["a", "claimed"],
        ["a2", "expired"],
        ["b", "claimed"],
      ],
      "leases",
    );
    const stored = omit(some(await s.store.leases.get(s.env, "a"), "lease"), "token");
    same(rows[1], stored, "a record");
    const some2 = await s.store.views.leases({ env: s.env, limit: 10, prefix: "a" });
    same(
      some2.rows.map(({ key }) => key),
      ["a", "a2"],
      "with a prefix",
    );
  },

  "timers by their next attempt; dead ones apart": async (s) => {
    const [late, soon] = [timer(s, { delayMs: LONG_MS }), timer(s)];
    const one = await created(s, { timers: [late, soon] });
    const list = (state: "pending" | "dead") =>
      paged((after) => s.store.views.timers({ env: s.env, state, ...place(after) }));
    const pending = await list("pending");
    same(
      pending.map(({ id }) => id),
      [soon.id, late.id],
      "pending",
    );
    const stored = omit(some((await s.store.machines.timers(one.key))[0], "timer"), "payload");
    same(pending[0], { ...stored, machine: "m", instance: one.id }, "a row");
    await s.advance(1);
    const [claimed] = (await s.store.machines.claimTimers(claimTimers(s))).timers;
    const { id, generation, attempts } = some(claimed, "claimed");
    await s.store.machines.settleTimers([{ id, generation, attempts, as: "dead", delayMs: 0, problem: "no" }]);
    same([(await list("dead")).map((row) => row.id), (await list("pending")).length], [[soon.id], 1], "dead");
  },

  "limits with the runs that hold and wait": async (s) => {
    const limits = (key: string) => [{ kind: "slots" as const, key, max: 1 }];
    await s.store.runs.insert([
      s.newRun({ limits: limits("b") }),
      s.newRun({ limits: limits("b") }),
      s.newRun({ limits: limits("a") }),
    ]);
    const rows = await paged((after) => s.store.views.limits({ env: s.env, ...place(after) }));
    same(
      rows,
      [
        { key: "a", granted: 1, waiting: 0 },
        { key: "b", granted: 1, waiting: 1 },
      ],
      "limits",
    );
  },

  "what runs wait for under limits": async (s) => {
    const limits = [{ kind: "serial", key: "customer 1", max: 1 } as const];
    await s.insert({ limits });
    const second = await s.insert({ limits });
    const plain = await s.insert();
    const asked = [plain.id, second.id, "no id", s.newRun().id];
    same(await s.store.views.waitsFor(asked), [null, "customer 1", null, null], "limits");
  },

  "envs that have runs": async (s) => {
    same((await s.store.views.envs()).includes(s.env), false, "before");
    const claim = await s.start();
    const found = await s.store.views.envs();
    // Other cases have envs of their own, more than are listed.
    same(found.includes(s.env) || found.length === 100, true, "with a running one");
    await s.accept(claim, [complete]);
    const then = await s.store.views.envs();
    same(then.includes(s.env) || then.length === 100, true, "with an ended one");
  },

  "ends in their order, from a place on": async (s) => {
    const { next: start } = await s.store.views.ended({ env: s.env, limit: 10 });
    const claims = [await s.start(), await s.start(), await s.start()].reverse();
    for (const claim of claims) {
      await s.advance(2);
      await s.accept(claim, [claim === claims[1] ? fail() : complete]);
    }
    const first = await s.store.views.ended({ env: s.env, limit: 2, after: start });
    const ends = first.rows.map(({ runId, state, program }) => ({ runId, state, program }));
    const expected = [
      { runId: claims[0]!.runId, state: "completed", program: "work" },
      { runId: claims[1]!.runId, state: "failed", program: "work" },
    ];
    same(ends, expected, "first page");
    same(first.next, first.rows[1]?.place, "next");
    const second = await s.store.views.ended({ env: s.env, limit: 2, after: first.next });
    same(
      second.rows.map(({ runId }) => runId),
      [claims[2]!.runId],
      "second page",
    );
    same(
      await s.store.views.ended({ env: s.env, limit: 2, after: second.next }),
      { rows: [], next: second.next },
      "end",
    );
    same((await s.store.views.ended({ env: `${s.env}-2`, limit: 2, after: start })).rows, [], "another env");
  },
});
