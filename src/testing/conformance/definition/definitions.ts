// Definitions: programs as data, saved over the version that was read, separate in each env.

import type { DefinitionName } from "../../../store/contract/definition/definitions.js";
import { cases } from "../case.js";
import { matches, rejects, same } from "../expect.js";
import type { Scene } from "../scene.js";

const named = (s: Scene, name = "watcher"): DefinitionName => ({ env: s.env, kind: "actor", name });
const save = (
  s: Scene,
  body: string,
  more: { expectedVersion?: number; name?: string; programs?: readonly string[] } = {},
) => {
  const { name, ...rest } = more;
  return s.store.definitions.save({ ...named(s, name), body, by: "ann", programs: ["watcher::watch"], ...rest });
};

export const definitionCases = cases("definitions", {
  "a new one is version 1 and enabled; each other body is one more": async (s) => {
    same(await save(s, '{"n":1}'), { outcome: "saved", version: 1 }, "new");
    same(await save(s, '{"n":2}'), { outcome: "saved", version: 2 }, "another body");
    same(await save(s, '{"n":2}'), { outcome: "saved", version: 2 }, "the same body again");
    const { definitions } = await s.store.definitions.list(s.env);
    same(definitions!.length, 1, "how many");
    matches(definitions![0]!, { ...named(s), version: 2, enabled: true, body: '{"n":2}', by: "ann" }, "record");
  },

  "saved only over the version that was read": async (s) => {
    same(await save(s, "{}", { expectedVersion: 3 }), { outcome: "conflict", version: 0 }, "over none");
    same(await save(s, "{}", { expectedVersion: 0 }), { outcome: "saved", version: 1 }, "new");
    same(await save(s, '{"n":1}', { expectedVersion: 0 }), { outcome: "conflict", version: 1 }, "not new");
    same(await save(s, '{"n":1}', { expectedVersion: 1 }), { outcome: "saved", version: 2 }, "over the first");
    same(await save(s, '{"n":1}', { expectedVersion: 1 }), { outcome: "saved", version: 2 }, "the same call again");
    same(await save(s, '{"n":2}', { expectedVersion: 1 }), { outcome: "conflict", version: 2 }, "over an old one");
  },

  "of many that save over one version one does": async (s) => {
    await save(s, "{}");
    const bodies = Array.from({ length: 8 }, (_, i) => `{"n":${i}}`);
    const answers = await Promise.all(bodies.map((body) => save(s, body, { expectedVersion: 1 })));
    same(answers.filter(({ outcome }) => outcome === "saved").length, 1, "saved");
    same((await s.store.definitions.list(s.env)).definitions![0]!.version, 2, "version");
  },

  "switched off and on it stays in its version": async (s) => {
    same(await s.store.definitions.enable(named(s), false, "bob"), false, "none there");
    await save(s, "{}");
    same(await s.store.definitions.enable(named(s), false, "bob"), true, "there");
    matches((await s.store.definitions.list(s.env)).definitions![0]!, { version: 1, enabled: false, by: "bob" }, "off");
    await save(s, '{"n":1}');
    matches(
      (await s.store.definitions.list(s.env)).definitions![0]!,
      { version: 2, enabled: false },
      "saved while off",
    );
    await s.store.definitions.enable(named(s), true, "bob");
    matches((await s.store.definitions.list(s.env)).definitions![0]!, { version: 2, enabled: true }, "on");
  },

  "the revision changes with everything, and nothing else": async (s) => {
    const revision = async () => (await s.store.definitions.list(s.env)).revision;
    const seen = [await revision()];
    for (const change of [
      () => save(s, "{}"),
      () => save(s, '{"n":1}'),
      () => s.store.definitions.enable(named(s), false, "ann"),
      () => save(s, "{}", { name: "another" }),
    ]) {
      await change();
      seen.push(await revision());
      same(await revision(), seen.at(-1), "asked again");
    }
    same(new Set(seen).size, seen.length, "all different");
    const unlessRevision = seen.at(-1)!;
    same(
      await s.store.definitions.list(s.env, { unlessRevision }),
      { revision: unlessRevision, definitions: null },
      "the same",
    );
    await s.store.definitions.remove(named(s, "another"));
    await s.store.definitions.enable(named(s), true, "ann");
    same(await revision(), seen[2], "as it was");
    const other = await s.store.definitions.list(s.env, { unlessRevision });
    same(other.definitions!.length, 1, "another revision brings them all");
  },

  "each env has its own (S18)": async (s) => {
    await save(s, "{}");
    const other = `${s.env}-x`;
    same((await s.store.definitions.list(other)).definitions, [], "another env");
    await s.store.definitions.remove({ ...named(s), env: other });
    await s.store.definitions.enable({ ...named(s), env: other }, false, "ann");
    matches((await s.store.definitions.list(s.env)).definitions![0]!, { enabled: true }, "untouched");
  },

  "removed it is gone, and removing it again changes nothing": async (s) => {
    await save(s, "{}");
    await s.store.definitions.remove(named(s));
    await s.store.definitions.remove(named(s));
    same((await s.store.definitions.list(s.env)).definitions, [], "definitions");
    same(await save(s, "{}"), { outcome: "saved", version: 2 }, "saved again: its versions continue");
  },

  "versions that were saved over are there while runs wait for them": async (s) => {
    const older = async () => (await s.store.definitions.older(s.env)).map(({ version, body }) => [version, body]);
    const start = (program: string, version: string | null) => s.insert({ group: { program, version } });
    await save(s, '{"n":1}', { programs: ["flow", "flow::a"] });
    await start("flow::a", "1");
    same(await older(), [], "the current one is not an older one");
    await save(s, '{"n":2}', { programs: ["flow", "flow::b"] });
    same(await older(), [[1, '{"n":1}']], "a run is pinned to the first");
    await save(s, '{"n":3}', { programs: ["other"] });
    same(await older(), [[1, '{"n":1}']], "nothing waits for the second");
    await start("flow::b", null);
    same(
      await older(),
      [
        [1, '{"n":1}'],
        [2, '{"n":2}'],
      ],
      "of a program that the current one has no more",
    );
    await save(s, '{"n":4}', { programs: ["flow::b"] });
    same(await older(), [[1, '{"n":1}']], "the current one has it again");
    same(await s.store.definitions.older(`${s.env}-x`), [], "another env");
    await s.store.definitions.remove(named(s));
    same(
      (await older()).map(([version]) => version),
      [1, 2, 4],
      "removed, it is an older one, too",
    );
  },

  "what cannot be kept is refused": async (s) => {
    const bad: object[] = [
      { body: "[]" },
      { body: "{" },
      { body: `{"n":"\\u0000"}\0` },
      { body: `{"n":"${"x".repeat(300_000)}"}` },
      { body: 3 },
      { name: "two words" },
      { kind: "something" },
      { env: "Bad Env" },
      { by: "" },
      { expectedVersion: -1 },
      { expectedVersion: 0.5 },
      { programs: undefined },
      { programs: ["two words"] },
    ];
    for (const more of bad) {
      const definition = { ...named(s), body: "{}", programs: [], by: "ann", ...more } as never;
      await rejects(s.store.definitions.save(definition), JSON.stringify(more).slice(0, 60));
    }
    same((await s.store.definitions.list(s.env)).definitions, [], "nothing was written");
  },
});
