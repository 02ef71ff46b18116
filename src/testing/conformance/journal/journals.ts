// Reading the journal: in order, by pages, with the run's sequence in the same snapshot (S8).

import { cases } from "../case.js";
import { rejects, same, some } from "../expect.js";
import { append, complete, payload } from "../scene.js";

export const journalCases = cases("journal", {
  "an unknown run has no journal": async (s) => {
    same(await s.store.journal.read(s.id()), null, "answer");
  },

  "a part that is none is refused": async (s) => {
    const { id } = await s.insert();
    for (const part of [{ after: -1 }, { after: 0.5 }, { after: Number.NaN }, { limit: -1 }, { limit: 1.5 }]) {
      await rejects(s.store.journal.read(id, part), JSON.stringify(part));
    }
    same((await s.store.journal.read(id, { limit: 0 }))?.entries, [], "no entry at all");
  },

  "entries are read from the reader's position": async (s) => {
    const claim = await s.start();
    await s.accept(
      claim,
      ["a", "b", "c", "d"].map((name) => append(name)),
    );
    const read = async (options: { after?: number; limit?: number }) => {
      const page = some(await s.store.journal.read(claim.runId, options), "page");
      return [page.entries.map(({ name }) => name), page.seq, page.baseSeq];
    };
    same(await read({}), [["work", "a", "b", "c", "d"], 5, 0], "all");
    same(await read({ after: 3 }), [["c", "d"], 5, 0], "after 3");
    same(await read({ after: 1, limit: 2 }), [["a", "b"], 5, 0], "two after 1");
    same(await read({ limit: 1 }), [["work"], 5, 0], "the first");
    same(await read({ after: 5 }), [[], 5, 0], "at the end");
    same(await read({ after: 99 }), [[], 5, 0], "beyond the end");
  },

  "a glance at many runs returns their states in the order asked for, and a short end": async (s) => {
    const claim = await s.start();
    await s.accept(claim, [append("a"), complete]);
    const long = await s.start();
    const result = payload("x".repeat(3_000));
    await s.accept(long, [{ kind: "complete", output: result }]);
    const wide = await s.start();
    await s.accept(wide, [{ kind: "complete", output: payload("ß".repeat(1_500)) }]);
    const waiting = await s.insert();
    const asked = [waiting.id, s.id(), claim.runId, long.runId, "no id", claim.runId, wide.runId];
    const seen = await s.store.runs.glance(asked);
    same(
      seen.map((one) => one && [one.state, one.seq, one.end?.kind ?? null]),
      [
        ["waiting", 1, null],
        null,
        ["completed", 3, "completed"],
        ["completed", 2, null],
        null,
        ["completed", 3, "completed"],
        ["completed", 2, null],
      ],
      "glances",
    );
    const { entries } = some(await s.store.journal.read(claim.runId), "page");
    same(seen[2]?.end, entries.at(-1), "the end as the journal has it");
    const [end] = await s.store.journal.peek([{ runId: long.runId, what: "end" }]);
    same(end?.entry?.payload, result, "a long end is there to be peeked at");
    same(await s.store.runs.glance([]), [], "no runs");
  },

  "a long log comes back in order": async (s) => {
    const claim = await s.start();
    const names = Array.from({ length: 300 }, (_, i) => `step-${i}`);
    await s.accept(claim, [...names.map((name) => append(name, name)), complete]);
    const { entries } = some(await s.store.journal.read(claim.runId, { after: 1, limit: 300 }), "page");
    same(
      entries.map(({ name }) => name),
      names,
      "names",
    );
  },

  "hostile names and keys come back as they were": async (s) => {
    const claim = await s.start();
    const names = ["", "__proto__", "toString", "a\nb", "'; --", "😀", "{}", "\\", "null"];
    const effects = names.map((name) => ({ kind: "append", entry: { kind: "step", name, key: name } }) as const);
    await s.accept(claim, effects);
    const { entries } = some(await s.store.journal.read(claim.runId, { after: 1 }), "page");
    same(
      entries.map(({ name, key }) => [name, key]),
      names.map((name) => [name, name]),
      "names and keys",
    );
  },
});
