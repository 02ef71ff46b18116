// What graphs keep beyond a run: cached results, threads, the long-term store, and streams of tokens.

import { expect, test } from "vitest";
import { append, graph, state } from "../../src/graph/index.js";
import { createClient, PermanentError } from "../../src/index.js";
import { payloadHash } from "../../src/kernel/codec/canonical.js";
import { onBothStores } from "../workflow/node-suite.js";

interface Talk {
  words: string[];
  count: number;
}
const S = state<Talk>({ words: append() });
const limit = { timeout: "10s" } as const;

onBothStores((bench) => {
  test("a result is used again for the same key by other runs and nodes, until its time has passed", async () => {
    const calls: string[] = [];
    const cached = (ttl: number) =>
      graph(`cached-${ttl}`, {
        state: S,
        start: "a",
        nodes: {
          a: S.node({ cache: { key: (s) => s.words, ttl } }, (ctx, s) => {
            calls.push(s.words.join());
            if (s.words.includes("skip")) ctx.goto("end");
            return { count: s.count + 1 };
          }),
          b: () => ({ words: ["b"] }),
        },
        edges: { a: { to: ["b", "end"], choose: (_s) => "b" }, b: "end" },
      });
    const [long, short] = [cached(60_000), cached(1)];
    const node = await bench.open({ programs: [long, short] });
    const other = await bench.open({ programs: [long, short] });
    const run = async (by: typeof node, one: typeof long, words: string[], count = 0) =>
      (await by.start(one, { words, count })).result(limit);
    expect(await run(node, long, ["x"])).toEqual({ words: ["x", "b"], count: 1 });
    expect(await run(other, long, ["x"], 5)).toEqual({ words: ["x", "b"], count: 1 });
    expect(await run(node, long, ["y"], 5)).toEqual({ words: ["y", "b"], count: 6 });
    expect(await run(node, long, ["skip"])).toEqual({ words: ["skip"], count: 1 });
    expect(await run(other, long, ["skip"], 9)).toEqual({ words: ["skip"], count: 1 });
    expect(calls).toEqual(["x", "y", "skip"]);
    await run(node, short, ["x"]);
    await new Promise((resolve) => setTimeout(resolve, 5));
    await run(node, short, ["x"]);
    expect(calls).toHaveLength(5);
  });

  test("results of two keys in one place of the cache are not confused", async () => {
    const placeOf = (word: string) => Number.parseInt(payloadHash([word]).slice(0, 8), 16) % 4096;
    let other = 0;
    while (placeOf(`w${other}`) !== placeOf("first")) other++;
    const small = graph("small-cache", {
      state: S,
      start: "a",
      nodes: {
        a: S.node({ cache: { key: (s) => s.words, ttl: "1h" } }, (_ctx, s) => ({ words: [`saw ${s.words[0]}`] })),
      },
      edges: { a: "end" },
    });
    const node = await bench.open({ programs: [small] });
    for (const word of ["first", `w${other}`, "first"])
      expect((await (await node.start(small, { words: [word], count: 0 })).result(limit)).words).toEqual([
        word,
        `saw ${word}`,
      ]);
  });

  test("a node's writes to the store are committed with its result, and not when it fails", async () => {
    const keeping = graph("keeping", {
      state: S,
      start: "a",
      nodes: {
        a: S.node({ retry: { attempts: 2, delay: 1 } }, async (ctx, s) => {
          const before = (await ctx.store.get<number>("ann", "count")) ?? 0;
          ctx.store.put("ann", "count", before + 1);
          ctx.store.put("ann", `word-${ctx.attempt}`, s.words);
          expect(await ctx.store.get("ann", "count")).toBe(before + 1);
          if (ctx.attempt === 1 || s.words.includes("bad")) throw new Error("not yet");
          return { count: before + 1 };
        }),
        each: S.map(
          (s) => s.words,
          (ctx, word) => {
            ctx.store.put("items", word, ctx.index);
            return word;
          },
          { into: "words" },
        ),
        b: async (ctx) => {
          const known = await ctx.store.list("ann");
          ctx.store.delete("ann", "word-2");
          return { words: known.map(({ key }) => key) };
        },
      },
      edges: { a: "each", each: "b", b: "end" },
    });
    const node = await bench.open({ programs: [keeping] });
    await expect((await node.start(keeping, { words: ["bad"], count: 0 })).result(limit)).rejects.toThrow("not yet");
    expect(await node.graphs.store.list("ann")).toEqual([]);
    const run = await node.start(keeping, { words: ["x", "y"], count: 0 });
    expect(await run.result(limit)).toEqual({ words: ["x", "y", "x", "y", "count", "word-2"], count: 1 });
    const client = createClient({ store: bench.store });
    expect(await client.graphs.store.get("ann", "count")).toBe(1);
    expect(await client.graphs.store.get("ann", "word-2")).toBeUndefined();
    expect((await client.graphs.store.list("items")).map(({ key, value }) => [key, value])).toEqual([
      ["x", 0],
      ["y", 1],
    ]);
    await client.graphs.store.put("ann", "count", 7);
    expect((await (await node.start(keeping, { words: [], count: 0 })).result(limit)).count).toBe(8);
    await client.graphs.store.delete("ann", "count");
    const misnamed = graph("misnamed", {
      state: S,
      start: "a",
      nodes: { a: S.node({ retry: 1 }, (ctx) => ctx.store.put("x".repeat(600), "k", 1)) },
      edges: { a: "end" },
    });
    const third = await bench.open({ programs: [misnamed] });
    const failed = (await third.start(misnamed, { words: [], count: 0 })).result(limit);
    await expect(failed).rejects.toMatchObject({ cause: { code: "LIMIT_EXCEEDED" } });
    expect(await node.graphs.store.get("ann", "count")).toBeUndefined();
  });

  test("a thread continues with the last state, one run at a time and in order; a run that fails leaves it", async () => {
    let working = 0;
    let most = 0;
    const chat = graph("chat", {
      state: S,
      init: (word: string) => ({ words: [word], count: 0 }),
      start: "answer",
      nodes: {
        answer: S.node({ retry: 1 }, async (_ctx, s) => {
          working++;
          most = Math.max(most, working);
          await new Promise((resolve) => setTimeout(resolve, 20));
          working--;
          if (s.words.at(-1) === "bad") throw new PermanentError("bad");
          return { words: [`re ${s.words.at(-1)}`] };
        }),
      },
      edges: { answer: "end" },
    });
    const node = await bench.open({ programs: [chat] });
    expect(await node.graphs.thread(chat, "ann")).toBeNull();
    const runs = [];
    for (const word of ["a", "b", "bad", "c"]) runs.push(await node.graphs.continue(chat, "ann", word));
    const apart = await node.graphs.continue(chat, "ben", "z");
    expect((await runs[0]!.result(limit)).words).toEqual(["a", "re a"]);
    await expect(runs[2]!.result(limit)).rejects.toMatchObject({ code: "RUN_FAILED" });
    expect((await runs[3]!.result(limit)).words).toEqual(["a", "re a", "b", "re b", "c", "re c"]);
    expect((await apart.result(limit)).words).toEqual(["z", "re z"]);
    expect(most).toBeLessThanOrEqual(2);
    expect(await node.graphs.thread(chat, "ann")).toMatchObject({ run: runs[3]!.id, state: { count: 0 } });
    // A rewound run writes the thread again.
    await node.graphs.rewind(chat, runs[3]!.id, { to: "answer", by: "ann", why: "?", state: { words: ["d"] } });
    expect((await runs[3]!.result(limit)).words).toEqual(["d", "re d"]);
    expect((await node.graphs.thread(chat, "ann"))?.state.words).toEqual(["d", "re d"]);
    // One that failed and ends after a later run of its thread does not undo what that one added.
    await node.graphs.rewind(chat, runs[2]!.id, { to: "answer", by: "ann", why: "?", state: { words: ["good"] } });
    expect((await runs[2]!.result(limit)).words).toEqual(["good", "re good"]);
    expect((await node.graphs.thread(chat, "ann"))?.state.words).toEqual(["d", "re d"]);
    await node.graphs.forget(chat, "ann");
    const fresh = await node.graphs.continue(chat, "ann", "e");
    expect((await fresh.result(limit)).words).toEqual(["e", "re e"]);
  });

  test("a run whose output cannot be stored fails, and leaves its thread as it was", async () => {
    const chat = graph("unstorable", {
      state: S,
      init: (word: string) => ({ words: [word], count: 0 }),
      start: "answer",
      nodes: { answer: async () => ({ words: ["re"] }) },
      edges: { answer: "end" },
      output: () => () => 1,
    });
    const node = await bench.open({ programs: [chat as never] });
    const run = await node.graphs.continue(chat, "ann", "a");
    await expect(run.result(limit)).rejects.toMatchObject({ code: "RUN_FAILED" });
    expect(await node.graphs.thread(chat, "ann")).toBeNull();
  });

  test("a person's answer counts for its run, although another run has kept a result meanwhile", async () => {
    const asks = graph("asks-cached", {
      state: S,
      init: (word: string) => ({ words: [word], count: 0 }),
      start: "ask",
      nodes: {
        ask: S.node({ cache: { key: () => "same", ttl: "1h" } }, async (ctx) => {
          return { words: [String(await ctx.interrupt("Which?"))] };
        }),
      },
      edges: { ask: "end" },
    });
    const node = await bench.open({ programs: [asks] });
    const runs = [await node.start(asks, "a"), await node.start(asks, "b")];
    for (const run of runs) await expect.poll(async () => (await run.status()).state).toBe("parked");
    for (const [n, run] of runs.entries()) {
      await run.decide("ask", { by: "ann", data: `D${n}` });
      expect((await run.result(limit)).words.at(-1)).toBe(`D${n}`);
    }
    expect((await (await node.start(asks, "c")).result(limit)).words.at(-1)).toBe("D1");
  });

  test("a value that cannot be stored fails the node that streams it; one that is too large is dropped, and fails nothing", async () => {
    const writer = graph("writes-oddly", {
      state: S,
      init: (word: string) => ({ words: [word], count: 0 }),
      start: "write",
      nodes: {
        write: S.node({ retry: 1 }, async (ctx, s) => {
          ctx.write(s.words[0] === "odd" ? () => 1 : { large: "x".repeat(2_000_000) });
          return { count: 1 };
        }),
      },
      edges: { write: "end" },
    });
    const node = await bench.open({ programs: [writer] });
    expect(await (await node.start(writer, "large")).result(limit)).toMatchObject({ count: 1 });
    await expect((await node.start(writer, "odd")).result(limit)).rejects.toMatchObject({
      state: "failed",
      cause: { code: "INVALID_INPUT", message: expect.stringContaining("ctx.write: a function cannot be stored") },
    });
  });

  test("tokens, values, updates and states reach a reader of another process, in order, and not the journal", async () => {
    const writer = graph("writer", {
      state: S,
      start: "write",
      nodes: {
        write: async (ctx) => {
          for (let i = 0; i < 200; i++) ctx.write(`t${i} `);
          ctx.write({ done: 0.5 });
          ctx.write("end");
          return { words: ["written"] };
        },
        last: () => ({ count: 1 }),
      },
      edges: { write: "last", last: "end" },
    });
    const node = await bench.open({ programs: [writer] });
    const run = await node.start(writer, { words: [], count: 0 });
    const modes = ["tokens", "custom", "updates", "state"] as const;
    const client = createClient({ store: bench.store });
    const seen: string[] = [];
    let text = "";
    for await (const event of client.graphs.stream(writer, run.id, { modes })) {
      if (event.mode === "tokens") text += event.text;
      else if (event.mode === "custom")
        seen.push(`custom ${JSON.stringify(event.value)} of ${event.node}:${event.visit}`);
      else if (event.mode === "updates") seen.push(`${event.node} ${JSON.stringify(event.update)}`);
      else seen.push(`${event.position} ${event.state.words.join()} ${event.state.count}`);
    }
    expect(text).toBe(`${Array.from({ length: 200 }, (_, i) => `t${i} `).join("")}end`);
    expect(seen).toEqual([
      'custom {"done":0.5} of write:1',
      "write:1  0",
      'write {"words":["written"]}',
      "last:1 written 0",
      'last {"count":1}',
      "end written 1",
    ]);
    const { entries } = (await bench.store.journal.read(run.id))!;
    expect(JSON.stringify(entries)).not.toContain("t199");
    const late = [];
    for await (const event of client.graphs.streamRun(run.id, { modes: ["tokens"] })) late.push(event);
    expect(late).toHaveLength(2);
    const unknown = client.graphs.streamRun("00000000-0000-7000-8000-000000000000", { modes: ["tokens"] });
    await expect(unknown.next()).rejects.toMatchObject({ code: "RUN_UNKNOWN" });
  });

  test("a reader that stops is let go, and the run continues", async () => {
    const endless = graph("endless", {
      state: S,
      start: "write",
      nodes: {
        write: async (ctx) => {
          for (let i = 0; !ctx.signal.aborted; i++) {
            ctx.write({ i });
            await new Promise((resolve) => setTimeout(resolve, 5));
          }
        },
      },
      edges: { write: "end" },
    });
    const node = await bench.open({ programs: [endless] });
    const run = await node.start(endless, { words: [], count: 0 });
    const stop = new AbortController();
    let first: unknown = null;
    for await (const event of node.graphs.streamRun(run.id, { modes: ["custom"], signal: stop.signal })) {
      first ??= event.mode === "custom" && event.value;
      stop.abort();
    }
    expect(first).toEqual({ i: 0 });
    expect((await run.status()).state).toBe("running");
    await run.cancel();
  });
});
