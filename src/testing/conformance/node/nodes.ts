// Nodes: registered per start, live while they send heartbeats, gone when they sign off.

import type { NodeRegistration } from "../../../store/contract/node/nodes.js";
import { cases } from "../case.js";
import { holds, matches, rejects, same, some } from "../expect.js";
import { handBack, PAST_MS, type Scene } from "../scene.js";

async function register(s: Scene, options: Partial<NodeRegistration> = {}): Promise<NodeRegistration> {
  const node = { incarnation: s.token(), identity: "host-1", name: "one", env: s.env, stack: null, build: null };
  const registered = { ...node, ...options };
  await s.store.nodes.register(registered);
  return registered;
}

async function incarnations(s: Scene, stopped?: boolean) {
  const nodes = await s.store.nodes.list(stopped === undefined ? { env: s.env } : { env: s.env, stopped });
  return nodes.map(({ incarnation }) => incarnation);
}

export const nodeCases = cases("nodes", {
  "a registered node is listed": async (s) => {
    const node = await register(s, { stack: "blue", build: "abc" });
    const [record, ...more] = await s.store.nodes.list({ env: s.env });
    same(more, [], "others");
    const { startedAt, seenAt, ...rest } = some(record, "record");
    const unsaid = {
      serves: [],
      claims: [],
      overruled: [],
      executors: [],
      alone: false,
      mode: "full",
      overrides: {},
      drain: null,
      heartbeatMs: null,
      leaseMs: null,
      presenceGraceMs: null,
      vitals: null,
    };
    same(rest, { ...node, ...unsaid, stoppedAt: null, alive: true, holds: 0 }, "record");
    same(seenAt, startedAt, "seenAt");
  },

  "a node shows what it serves, in its own order": async (s) => {
    const group = { env: s.env, stack: null, queue: "q", program: "p", version: null };
    const groups = [{ ...group, stack: "blue", version: "2" }, group, { ...group, program: "a" }];
    await register(s, { serves: await s.store.runs.groupIds(groups), heartbeatMs: 1000, leaseMs: 15_000 });
    const [record] = await s.store.nodes.list({ env: s.env });
    matches(record, { serves: groups, heartbeatMs: 1000, leaseMs: 15_000 }, "record");
  },

  "a node shows its executors, their slots and their queues": async (s) => {
    const executors = [
      { name: "gpu", slots: 1, queues: ["ml::train", "ml::predict"] },
      { name: "default", slots: 8, queues: [] },
    ];
    await register(s, { executors });
    const [record] = await s.store.nodes.list({ env: s.env });
    same(some(record, "record").executors, executors, "executors");
  },

  "programs are kept as a node last reported them": async (s) => {
    const told = { name: "etl", kind: "dag", shape: '{"b":1,"a":[]}', inputSchema: null };
    const at = async () => (await s.store.nodes.programs(s.env)).map((one) => one.at);
    await register(s, { programs: [told, { ...told, name: "alpha", kind: "workflow", shape: null }] });
    const listed = await s.store.nodes.programs(s.env);
    const names = listed.map(({ name, shape }) => ({ name, shape }));
    same(
      names,
      [
        { name: "alpha", shape: null },
        { name: "etl", shape: told.shape },
      ],
      "by name",
    );
    await s.advance(2);
    await register(s, { programs: [told] });
    same(
      await at(),
      listed.map((one) => one.at),
      "the same again changes nothing",
    );
    await register(s, {
      programs: [
        { ...told, shape: "{}" },
        { ...told, shape: '{"c":2}', inputSchema: "{}" },
      ],
    });
    const [, changed] = await s.store.nodes.programs(s.env);
    matches(changed, { kind: "dag", shape: '{"c":2}', inputSchema: "{}" }, "the last of two counts");
    holds(some(changed, "etl").at > listed[1]!.at, "its time has moved on");
    same(await s.store.nodes.programs(`${s.env}-2`), [], "another env");
  },

  "a program that cannot be kept is refused": async (s) => {
    const told = { name: "etl", kind: "dag", shape: "{}", inputSchema: null };
    for (const wrong of [{ name: "" }, { kind: 1 }, { shape: "[]" }, { shape: "{" }, { inputSchema: "x" }]) {
      const programs = [{ ...told, ...wrong }] as unknown as NonNullable<NodeRegistration["programs"]>;
      await rejects(register(s, { programs }), "programs");
    }
  },

  "how a process fares comes with its sign of life, and stays until the next report": async (s) => {
    const { incarnation } = await register(s);
    const vitals = { loopP99Ms: 1.5, rssBytes: 96_000_000, busy: { default: 2, gpu: 0 } };
    const round = { incarnation, env: s.env, watchedMs: 0, troubled: false };
    await s.store.housekeep({ ...round, vitals });
    await s.store.housekeep(round);
    const [record] = await s.store.nodes.list({ env: s.env });
    same(some(record, "record").vitals, vitals, "vitals");
  },

  "a node is alive while it shows a sign of life within three heartbeats": async (s) => {
    const heartbeatMs = 500;
    const alive = async () => (await s.store.nodes.list({ env: s.env, stopped: true })).map((node) => node.alive);
    const { incarnation } = await register(s, { heartbeatMs });
    same(await alive(), [true], "registered");
    await s.advance(3 * heartbeatMs + PAST_MS);
    same(await alive(), [false], "silent");
    await s.store.nodes.heartbeat(incarnation);
    same(await alive(), [true], "a new sign of life");
    await s.store.nodes.stop(incarnation);
    same(await alive(), [false], "stopped");
  },

  "what a node cannot serve is refused": async (s) => {
    await rejects(register(s, { serves: [0] }), "serves");
    await rejects(register(s, { serves: "all" as unknown as number[] }), "serves");
    const executor = { name: "gpu", slots: 1, queues: ["q"] };
    for (const wrong of [{ name: "g\0u" }, { slots: 0 }, { queues: "q" }, { queues: ["a:b"] }]) {
      const executors = [{ ...executor, ...wrong }] as unknown as NonNullable<NodeRegistration["executors"]>;
      await rejects(register(s, { executors }), "executors");
    }
    await rejects(register(s, { alone: "yes" as unknown as boolean }), "alone");
    await rejects(register(s, { heartbeatMs: 0.5 }), "heartbeatMs");
    await rejects(register(s, { leaseMs: -1 }), "leaseMs");
  },

  "registering again changes nothing (F41)": async (s) => {
    const node = await register(s);
    const before = await s.store.nodes.list({ env: s.env });
    await s.advance(2);
    await s.store.nodes.register(node);
    same(await s.store.nodes.list({ env: s.env }), before, "list");
  },

  "a heartbeat is seen": async (s) => {
    const { incarnation } = await register(s);
    await s.advance(5);
    same(await s.store.nodes.heartbeat(incarnation), true, "heartbeat");
    const [record] = await s.store.nodes.list({ env: s.env });
    holds(some(record, "record").seenAt >= some(record, "record").startedAt + 5, "seenAt has moved on");
  },

  "an unknown or stopped incarnation has no heartbeat": async (s) => {
    same(await s.store.nodes.heartbeat(s.token()), false, "unknown");
    const { incarnation } = await register(s);
    await s.store.nodes.stop(incarnation);
    same(await s.store.nodes.heartbeat(incarnation), false, "stopped");
    await s.store.nodes.stop(s.token());
  },

  "what can be no incarnation is unknown": async (s) => {
    for (const odd of ["x", "", "a\0b"]) {
      same(await s.store.nodes.heartbeat(odd), false, "heartbeat");
      await s.store.nodes.stop(odd);
    }
    await rejects(s.store.nodes.list({ env: "a\0b" }), "list");
  },

  "a stopped node is shown when asked for, and stops once": async (s) => {
    const { incarnation } = await register(s);
    await s.store.nodes.stop(incarnation);
    same(await incarnations(s), [], "by default");
    same(await incarnations(s, false), [], "without stopped");
    same(await incarnations(s, true), [incarnation], "with stopped");
    const [before] = await s.store.nodes.list({ env: s.env, stopped: true });
    await s.advance(2);
    await s.store.nodes.stop(incarnation);
    same(await s.store.nodes.list({ env: s.env, stopped: true }), [before], "stopped twice");
    holds(some(before, "record").stoppedAt !== null, "stoppedAt is set");
  },

  "the newest start comes first, other envs do not show (S18)": async (s) => {
    const old = await register(s);
    await s.advance(2);
    const young = await register(s);
    await register(s, { env: `${s.env}-2` });
    same(await incarnations(s), [young.incarnation, old.incarnation], "order");
  },

  "two starts of one identity are two nodes (F12)": async (s) => {
    const [a, b] = [await register(s), await register(s)];
    same(new Set(await incarnations(s)), new Set([a.incarnation, b.incarnation]), "listed");
  },

  "a node shows how many runs it holds": async (s) => {
    const { incarnation } = await register(s);
    const idle = await register(s);
    await s.store.runs.insert([s.newRun(), s.newRun()]);
    await s.advance(1);
    const [claim] = await s.claim({ owner: incarnation });
    const held = async () =>
      new Map((await s.store.nodes.list({ env: s.env })).map((node) => [node.incarnation, node.holds]));
    same([(await held()).get(incarnation), (await held()).get(idle.incarnation)], [2, 0], "holds");
    await s.accept(some(claim, "claim"), [handBack]);
    same((await held()).get(incarnation), 1, "after one was handed back");
  },
});
