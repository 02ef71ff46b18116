// Live updates: no statement without a stream, the statements of one for fifty, and nothing that changed is missed.

import { afterAll, expect, test } from "vitest";
import type { Store } from "../../src/store/contract/store.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { mapOperations, methodOf } from "../../src/store/operations.js";
import { open, startRun, world } from "./scene.js";

/** A store that counts its calls. */
function counting(): { store: Store; calls: string[] } {
  const inner = memoryStore();
  const calls: string[] = [];
  const store = mapOperations((name) => (...args: unknown[]) => {
    calls.push(name);
    return methodOf(inner, name)(...args);
  });
  return { store, calls };
}

interface Event {
  readonly event: string;
  // biome-ignore lint/suspicious/noExplicitAny: events of every shape.
  readonly data: any;
}

type Site = ReturnType<typeof open>;
const sites: Site[] = [];
afterAll(() => Promise.all(sites.map(({ site }) => site.close())));
const opened = (options: Parameters<typeof open>[0] = {}) => {
  const site = open(options);
  sites.push(site);
  return site;
};

async function stream({ send }: Site, topics: string, user = "ann:see") {
  const response = await send(`/api/v1/live?topics=${encodeURIComponent(topics)}`, { user });
  expect(response.status).toBe(200);
  const events: Event[] = [];
  const reader = response.body!.getReader();
  const read = async () => {
    let text = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      text += new TextDecoder().decode(value);
      const parts = text.split("\n\n");
      text = parts.pop()!;
      for (const part of parts) {
        const event = /^event: (\w+)\ndata: (.*)$/s.exec(part);
        if (event) events.push({ event: event[1]!, data: JSON.parse(event[2]!) });
      }
    }
  };
  const reading = read().catch(() => {});
  const patches = () => events.filter(({ event }) => event === "patch").map(({ data }) => data);
  const close = async () => {
    await reader.cancel();
    await reading;
  };
  return { events, patches, close, ended: reading };
}

const wait = (ms: number) => new Promise<void>((resolve) => world.after(ms, resolve));

test("a run's stream shows new entries and the state, from a cursor", async () => {
  const site = opened();
  const id = await startRun(site.post);
  const live = await stream(site, `run:${id}@0`);
  await expect
    .poll(() =>
      live
        .patches()
        .at(-1)
        ?.entries.map((entry: { kind: string }) => entry.kind),
    )
    .toEqual(["start"]);
  await site.post(`/runs/${id}/cancel`);
  await expect
    .poll(() => live.patches().at(-1))
    .toMatchObject({ run: { state: "cancelled" }, entries: [{ kind: "cancelled" }] });
  const kinds = live.patches().flatMap(({ entries }) => entries.map((entry: { seq: number }) => entry.seq));
  expect(kinds).toEqual([1, 2]);
  await live.close();
});

test("rows, newest, nodes and inbox are sent when they change, and only then", async () => {
  const site = opened();
  const id = await startRun(site.post);
  const live = await stream(site, `rows:${id},newest,nodes,inbox`);
  await expect.poll(() => live.patches().length).toBe(4);
  await wait(1_200);
  expect(live.patches().length).toBe(4);
  await site.post(`/runs/${id}/pause`);
  await expect.poll(() => live.patches().at(-1)).toMatchObject({ kind: "rows", rows: [{ id, state: "paused" }] });
  const second = await startRun(site.post);
  await expect.poll(() => live.patches().at(-1)).toMatchObject({ kind: "newest", ids: [second, id] });
  await live.close();
});

test("no stream, no statement; fifty streams of one topic, the statements of one", async () => {
  const { store, calls } = counting();
  const site = opened({ store });
  const id = await startRun(site.post);
  calls.length = 0;
  await wait(1_500);
  expect(calls).toEqual([]);

  const during = async (n: number) => {
    const lives = await Promise.all(
      Array.from({ length: n }, (_, i) => stream(site, `run:${id},nodes`, `user-${i}:see`)),
    );
    await expect.poll(() => lives.every((live) => live.patches().length >= 2)).toBe(true);
    calls.length = 0;
    await wait(2_500);
    const made = [...calls];
    await Promise.all(lives.map((live) => live.close()));
    return made;
  };
  const [one, fifty] = [await during(1), await during(50)];
  expect(one.length).toBeGreaterThan(0);
  expect(fifty.length).toBeLessThanOrEqual(one.length * 1.5);
  calls.length = 0;
  await wait(1_500);
  expect(calls).toEqual([]);
});

test("topics are changed while the stream is open, by its owner only", async () => {
  const site = opened();
  const id = await startRun(site.post);
  const live = await stream(site, "nodes");
  await expect.poll(() => live.patches().length).toBe(1);
  const { connection } = live.events[0]!.data as { connection: string };
  const change = (user: string) =>
    site.post(`/live/${connection}/topics`, { topics: [`rows:${id}`, "what"] }, { user });
  expect((await change("bob:see")).status).toBe(404);
  expect((await change("ann:see")).status).toBe(200);
  await expect.poll(() => live.patches().at(-1)?.kind).toBe("rows");
  expect(live.events.find(({ event }) => event === "gone")?.data).toMatchObject({ topic: "what" });
  await live.close();
});

test("a run of another env, or none, is gone; streams are counted", async () => {
  const site = opened();
  const live = await stream(site, "run:01900000-0000-7000-8000-000000000000");
  await expect.poll(() => live.events.find(({ event }) => event === "gone")?.data.why).toBe("there is no such run");
  const more = await Promise.all(Array.from({ length: 4 }, () => stream(site, "nodes")));
  const sixth = await site.send("/api/v1/live?topics=nodes", { user: "ann:see" });
  expect([sixth.status, ((await sixth.json()) as { code: string }).code]).toEqual([429, "TOO_MANY_STREAMS"]);
  await Promise.all([live, ...more].map((one) => one.close()));
  const again = await stream(site, "nodes");
  await again.close();
});

test("a stream ends within seconds of the end of its caller's right, and other callers keep theirs", async () => {
  const revoked = new Set<string>();
  const auth = (request: Request) => {
    const id = request.headers.get("x-user")?.split(":")[0] ?? "";
    return revoked.has(id) ? null : { id, may: ["see" as const] };
  };
  const site = opened({ auth });
  const [ann, bob] = [await stream(site, "nodes", "ann:see"), await stream(site, "nodes", "bob:see")];
  await expect.poll(() => ann.patches().length + bob.patches().length).toBe(2);
  revoked.add("ann");
  await Promise.race([ann.ended, wait(8_000).then(() => expect.fail("the stream is still open"))]);
  const bobEnded = await Promise.race([bob.ended.then(() => true), wait(500).then(() => false)]);
  expect(bobEnded).toBe(false);
  await bob.close();
}, 20_000);
