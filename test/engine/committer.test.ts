import { describe, expect, test } from "vitest";
import { Committer } from "../../src/engine/committer.js";
import { JournalMoved } from "../../src/engine/run-writer.js";
import { InvalidInput } from "../../src/kernel/error.js";
import { ClaimLost } from "../../src/kernel/run/claim.js";
import type { Effect } from "../../src/kernel/run/effect.js";
import { systemWorld } from "../../src/kernel/system-world.js";
import type { Commit, CommitAnswer, RunStore } from "../../src/store/contract/run/runs.js";

const claim = { runId: "r", epoch: 1, token: "t" };
const step = (name: string): Effect => ({ kind: "append", entry: { kind: "step", name } });
const done: Effect = { kind: "complete", output: { codec: "json", data: "1" } };
const accept = ({ expectedSeq, effects }: Commit): CommitAnswer => ({
  outcome: "accepted",
  seq: expectedSeq + effects.length,
  inboxSeq: 0,
});

function committer(answer: (commit: Commit, call: number) => CommitAnswer | Promise<CommitAnswer>) {
  const calls: (readonly Commit[])[] = [];
  const store = {
    async commit(commits: readonly Commit[]) {
      calls.push(commits);
      return Promise.all(commits.map((commit) => answer(commit, calls.length)));
    },
  } as unknown as RunStore;
  return { calls, committer: new Committer(store, systemWorld()) };
}

describe("the committer", () => {
  test("assigns sequence numbers when a flush is sent and merges parallel branches of one run", async () => {
    const { calls, committer: c } = committer(accept);
    const writer = c.open(claim, 1);
    const seqs = await Promise.all(["a", "b", "c"].map((name) => writer.commit([step(name)])));
    expect(seqs.map(({ seq }) => seq)).toEqual([2, 3, 4]);
    expect(calls).toHaveLength(1);
    expect(calls[0]![0]).toMatchObject({ expectedSeq: 1, effects: [step("a"), step("b"), step("c")] });
    expect((await writer.commit([step("d")])).seq).toBe(5);
  });

  test("writes many runs in one call, each under its own fence", async () => {
    const { calls, committer: c } = committer(accept);
    const writers = ["x", "y", "z"].map((runId) => c.open({ ...claim, runId }, 1));
    await Promise.all(writers.map((writer) => writer.commit([step("a")])));
    expect(calls.map((commits) => commits.map((commit) => commit.claim.runId))).toEqual([["x", "y", "z"]]);
  });

  test("nothing is sent after a commit that releases the claim", async () => {
    const { calls, committer: c } = committer(accept);
    const writer = c.open(claim, 1);
    const both = await Promise.allSettled([writer.commit([done]), writer.commit([step("late")])]);
    expect(both.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
    await expect(writer.commit([step("later")])).rejects.toBeInstanceOf(ClaimLost);
    expect(calls).toHaveLength(1);
  });

  test("a lost claim rejects everything that waits or comes later", async () => {
    const { committer: c } = committer(() => ({ outcome: "lost" }));
    const writer = c.open(claim, 1);
    const all = await Promise.allSettled([writer.commit([step("a")]), writer.commit([step("b")])]);
    for (const one of all) expect(one).toMatchObject({ status: "rejected", reason: { code: "CLAIM_LOST" } });
    await expect(writer.commit([step("c")])).rejects.toBeInstanceOf(ClaimLost);
  });

  test("a busy row is sent again, in order, with the same sequence", async () => {
    const { calls, committer: c } = committer((commit, call) => (call < 3 ? { outcome: "busy" } : accept(commit)));
    const writer = c.open(claim, 7);
    expect(await writer.commit([step("a")])).toEqual({ seq: 8, inboxSeq: 0 });
    expect(calls.map(([commit]) => commit!.expectedSeq)).toEqual([7, 7, 7]);
  });

  test("a commit that was already written counts as written", async () => {
    const { committer: c } = committer(({ expectedSeq }) => ({ outcome: "recorded", seq: expectedSeq + 1 }));
    expect(await c.open(claim, 1).commit([step("a")])).toEqual({ seq: 2, inboxSeq: null });
  });

  test("a commit at a wrong sequence is rejected with the journal's sequence", async () => {
    const { committer: c } = committer(() => ({ outcome: "moved", seq: 3 }));
    const error = await c
      .open(claim, 9)
      .commit([step("a")])
      .catch((e) => e);
    expect(error).toBeInstanceOf(JournalMoved);
    expect(error).toMatchObject({ code: "JOURNAL_MOVED", seq: 3 });
  });

  test("one bad commit of a run does not reject its neighbours", async () => {
    const bad = (commit: Commit) => commit.effects.some((e) => e.kind === "append" && e.entry.name === "bad");
    const { committer: c } = committer((commit) =>
      bad(commit) ? { outcome: "refused", error: new InvalidInput("x", "is bad") } : accept(commit),
    );
    const writer = c.open(claim, 1);
    const all = await Promise.allSettled(["a", "bad", "b"].map((name) => writer.commit([step(name)])));
    expect(all.map((one) => (one.status === "fulfilled" ? one.value.seq : one.reason.code))).toEqual([
      2,
      "INVALID_INPUT",
      3,
    ]);
  });

  test("never puts more into one statement than fits, and keeps the order", async () => {
    const { calls, committer: c } = committer(accept);
    const writer = c.open(claim, 1);
    const large = (name: string): Effect => ({
      kind: "append",
      entry: { kind: "step", name, payload: { codec: "json", data: "x".repeat(3_000_000) } },
    });
    const seqs = await Promise.all(["a", "b", "c"].map((name) => writer.commit([large(name)])));
    expect(seqs.map(({ seq }) => seq)).toEqual([2, 3, 4]);
    expect(calls.map(([commit]) => commit!.effects.length)).toEqual([1, 1, 1]);
  });

  test("a busy row is retried after a pause, also when its commit is sent alone", async () => {
    let first = true;
    const started = performance.now();
    const { calls, committer: c } = committer((commit) => {
      if (first && commit.effects.length === 2) {
        first = false;
        return { outcome: "refused", error: new InvalidInput("x", "is bad") };
      }
      return performance.now() - started < 60 ? { outcome: "busy" } : accept(commit);
    });
    const writer = c.open(claim, 1);
    await Promise.all([writer.commit([step("a")]), writer.commit([step("b")])]);
    expect(calls.length).toBeLessThan(25);
  });

  test("after an unknown outcome the same effects may be sent again under the same sequence", async () => {
    let calls = 0;
    const { committer: c, calls: seen } = committer((commit) => {
      if (++calls === 1) return Promise.reject(new Error("no answer"));
      return accept(commit);
    });
    const writer = c.open(claim, 1);
    await expect(writer.commit([step("a")])).rejects.toThrow("no answer");
    expect((await writer.commit([step("a")])).seq).toBe(2);
    expect(seen.map(([commit]) => commit!.expectedSeq)).toEqual([1, 1]);
  });
});
