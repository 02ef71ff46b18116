// The journal as it is read: in order, by pages, with the run's sequence in the same snapshot (S8).

import { cases } from "./case.js";
import { rejects, same, some } from "./expect.js";
import { append, complete } from "./scene.js";

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

  "entries are read from where the reader stands": async (s) => {
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
