// Commits whose answers are lost, and other branches of the same run that have something to write.

import { describe, expect, test } from "vitest";
import { Committer } from "../../src/engine/committer.js";
import type { Effect } from "../../src/kernel/run/effect.js";
import { systemWorld } from "../../src/kernel/system-world.js";
import { createNode } from "../../src/node/create-node.js";
import type { Commit, CommitAnswer, RunStore } from "../../src/store/contract/run/runs.js";
import type { Store } from "../../src/store/contract/store.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { StoreFailed, StoreUnavailable } from "../../src/store/postgres/connection/errors.js";
import { workflow } from "../../src/workflow/workflow.js";

const pass = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const lostAnswer = () => new StoreUnavailable("commit", 100, null);

/** `answerMs`: when the commit of step `a` fails; `otherMs`: when the other branch has something to write. */
const CASES = [
  { when: "while the answer is awaited", answerMs: 100, otherMs: 50 },
  { when: "before the commit is repeated", answerMs: 0, otherMs: 80 },
];
test.each(CASES)("a commit whose answer is lost is found, also when another branch writes $when", async (times) => {
  const { answerMs, otherMs } = times;
  const inner = memoryStore();
  let lost = 0;
  const commit: RunStore["commit"] = async (commits) => {
    const answers = await inner.runs.commit(commits);
    const isFirst = commits.some(({ effects }) => effects.some((e) => e.kind === "append" && e.entry.name === "a"));
    if (!isFirst || lost++ > 0) return answers;
    await pass(answerMs);
    throw lostAnswer();
  };
  const store: Store = { ...inner, runs: { ...inner.runs, commit } };
  const order: string[] = [];
  const both = workflow("both", async (ctx) => {
    const note = (name: string) => void order.push(name);
    const a = ctx.step("a", () => 1).finally(() => note("a"));
    const b = ctx.step("b", () => pass(otherMs)).finally(() => note("b"));
    await Promise.all([a, b]);
  });
  const node = await createNode({ store, programs: [both], timing: { lease: 30_000 } });
  const broken: unknown[] = [];
  node.on("run.broken", ({ error }) => broken.push(error));
  const run = await node.start(both, undefined);
  await run.result({ timeout: "5s" });
  // As in the journal: a replay would deliver them in this order.
  expect(order).toEqual(["a", "b"]);
  expect(broken).toEqual([]);
  await node.stop();
});

describe("after a lost answer", () => {
  const step = (name: string): Effect[] => [{ kind: "append", entry: { kind: "step", name } }];

  /** A journal of one run that keeps the fence; `loses`: the calls without an answer, and whether they were written. */
  function scene(loses: Readonly<Record<number, "written" | "not written" | "refused">>) {
    const journal = ["start"];
    let calls = 0;
    const judge = ({ expectedSeq, effects }: Commit, isWritten: boolean): CommitAnswer => {
      const names = effects.map((effect) => (effect.kind === "append" ? effect.entry.name : effect.kind));
      const there = journal.slice(expectedSeq, expectedSeq + names.length);
      if (there.join() === names.join()) return { outcome: "recorded", seq: expectedSeq + names.length };
      if (journal.length !== expectedSeq) return { outcome: "moved", seq: journal.length };
      if (isWritten) journal.push(...names);
      return { outcome: "accepted", seq: expectedSeq + names.length, inboxSeq: 0 };
    };
    const store = {
      async commit(commits: readonly Commit[]) {
        const lost = loses[++calls];
        if (lost === "refused") throw new StoreFailed("commit", null);
        const answers = commits.map((commit) => judge(commit, lost !== "not written"));
        if (lost) throw lostAnswer();
        return answers;
      },
    } as unknown as RunStore;
    const writer = new Committer(store, systemWorld()).open({ runId: "r", epoch: 1, token: "t" }, 1);
    return { journal, writer };
  }

  test("what was written is found when its caller asks again together with another", async () => {
    const { journal, writer } = scene({ 1: "written" });
    const a = step("a");
    await expect(writer.commit(a)).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
    const seqs = await Promise.all([writer.commit(a), writer.commit(step("b"))]);
    expect(seqs.map(({ seq }) => seq)).toEqual([2, 3]);
    expect(journal).toEqual(["start", "a", "b"]);
  });

  test("what was not written is written in the order of the calls", async () => {
    const { journal, writer } = scene({ 1: "not written" });
    const a = step("a");
    await expect(writer.commit(a)).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
    expect((await writer.commit(step("b"))).seq).toBe(2);
    expect((await writer.commit(a)).seq).toBe(3);
    expect(journal).toEqual(["start", "b", "a"]);
  });

  test("a transaction gets its turn when it is known what was written", async () => {
    const { journal, writer } = scene({ 1: "written" });
    const a = step("a");
    await expect(writer.commit(a)).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
    let turn = false;
    const held = writer.hold().then((release) => {
      turn = true;
      expect(writer.seq).toBe(2);
      release();
    });
    const b = writer.commit(step("b"));
    await pass(20);
    expect(turn).toBe(false);
    expect((await writer.commit(a)).seq).toBe(2);
    expect((await b).seq).toBe(3);
    await held;
    expect(journal).toEqual(["start", "a", "b"]);
  });

  test("a flush that failed for good leaves nothing to wait for", async () => {
    const { writer } = scene({ 1: "refused" });
    await expect(writer.commit(step("a"))).rejects.toMatchObject({ code: "STORE_FAILED" });
    (await writer.hold())();
    expect((await writer.commit(step("b"))).seq).toBe(2);
  });

  test("two flushes that explain the journal equally well end the work: which was written is not known", async () => {
    const { writer } = scene({ 1: "written", 2: "written" });
    const [a, b] = [step("a"), step("b")];
    await expect(writer.commit(a)).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
    await expect(writer.commit(b)).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
    await expect(Promise.all([writer.commit(b), writer.commit(a)])).rejects.toMatchObject({ code: "JOURNAL_MOVED" });
  });

  test("a journal that a transaction may have moved is explained by no flush", async () => {
    const { journal, writer } = scene({ 1: "not written" });
    const a = step("a");
    await expect(writer.commit(a)).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
    journal.push("transaction");
    writer.lostTransaction({ claim: writer.claim, expectedSeq: 1, effects: step("transaction") });
    await expect(writer.commit(a)).rejects.toMatchObject({ code: "JOURNAL_MOVED" });
    expect(journal).toEqual(["start", "transaction"]);
  });
});
