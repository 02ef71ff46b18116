// Events that start runs: accepted and inserted in one call, each once, however often and by whichever process.

import { eventRunId } from "../../../kernel/run/event-run.js";
import type { EventToStart, StartAnswer, Subscription } from "../../../store/contract/event/events.js";
import { cases } from "../case.js";
import { matches, refused, same, some } from "../expect.js";
import { complete, payload, type Scene } from "../scene.js";

const IDS = ["a on updated", "b on updated"] as const;

/** Declared by a node that serves nothing: the groups of its runs have no numbers yet. */
async function declare(s: Scene, more: Partial<Subscription> = {}): Promise<void> {
  const incarnation = s.token();
  await s.store.nodes.register({
    incarnation,
    identity: "i",
    name: "n",
    env: s.env,
    stack: null,
    build: null,
    serves: [],
  });
  const subscriptions = IDS.map((id, i) => subscription(s, { id, program: id.slice(0, 1), ...(i === 0 && more) }));
  await s.store.events.subscribe({ incarnation, env: s.env, subscriptions, starting: true });
}

function subscription(s: Scene, more: Partial<Subscription>): Subscription {
  const what = { env: s.env, stack: null, event: "updated", queue: "work", version: null, where: [], crashLimit: 3 };
  const how = { subject: null, debounceMs: null, lifetime: "archived", breaker: null } as const;
  return { id: "", scope: more.id ?? "", program: "", ...what, ...how, ...more };
}

function event(s: Scene, more: Partial<EventToStart> = {}): EventToStart {
  const place = { id: s.id(), env: s.env, stack: null, event: "updated" };
  return { ...place, plain: '{"n":1}', key: "k", payloadHash: "h", input: payload({ n: 1 }), ...more };
}

async function start(s: Scene, ...events: EventToStart[]) {
  return (await s.store.events.start(events)).map(short);
}

/** By subscription: the outcome and the run. */
function short(answer: StartAnswer) {
  if (answer.outcome === "refused") return "refused";
  if (answer.outcome === "left") return answer.matched.map(({ id }) => `${id} left`);
  return answer.runs.map(({ outcome, runId }, i) => [answer.matched[i]!.id, outcome, runId]);
}

const made = (id: string) => IDS.map((one) => [one, "inserted", eventRunId(id, one)]);
const found = (id: string) => IDS.map((one) => [one, "existing", eventRunId(id, one)]);

const groupIds = (s: Scene) => s.store.runs.groupIds(["a", "b"].map((program) => s.group({ program })));

export const eventStartCases = cases("events: what they start", {
  "an event makes a run for each of its subscriptions, in their groups, with its input": async (s) => {
    await declare(s, { version: "2", where: [{ n: 1 }] });
    const one = event(s);
    same(await start(s, one), [made(one.id)], "answer");
    const run = await s.run(eventRunId(one.id, IDS[0]));
    matches(
      run,
      { state: "waiting", group: s.group({ program: "a", version: "2" }), crashLimit: 3, priority: 0 },
      "a run",
    );
    const page = some(await s.store.journal.read(eventRunId(one.id, IDS[1])), "the journal");
    matches(page.entries[0], { kind: "start", name: "b", key: null, payload: one.input }, "its first entry");
    const other = event(s, { plain: "{}", key: "other" });
    same(await start(s, other), [[made(other.id)[1]]], "an event that a filter keeps out");
    same(
      await start(s, event(s, { event: "unheard" }), event(s, { stack: "blue" })),
      [[], []],
      "events without a subscription",
    );
    same(await s.store.events.start([]), [], "no events");
  },

  "the same event again, in another call or in the same one, makes nothing": async (s) => {
    await declare(s);
    const [first, second, third, other] = [
      event(s),
      event(s),
      event(s, { payloadHash: "h2" }),
      event(s, { key: "k2" }),
    ];
    same(await start(s, first, second, other), [made(first.id), found(first.id), made(other.id)], "in one call");
    same(await start(s, third), [found(first.id)], "in another, with another payload");
    same(await s.store.runs.count({ env: s.env }), { waiting: 4 }, "runs");
  },

  "one scope in two stacks: an event has one run, in the stack where it came first; each with its own: one in each":
    async (s) => {
      const stacks = [null, "blue"] as const;
      const incarnation = s.token();
      const own = { incarnation, identity: "i", name: "n", env: s.env, stack: null, build: null, serves: [] };
      await s.store.nodes.register(own);
      const wish = (stack: string | null, program: string, scope?: string) => {
        const id = `${program} on updated in ${stack}`;
        return subscription(s, { id, scope: scope ?? id, program, stack });
      };
      const subscriptions = stacks.flatMap((stack) => [wish(stack, "one", "one on updated"), wish(stack, "each")]);
      await s.store.events.subscribe({ incarnation, env: s.env, subscriptions, starting: true });
      const events = [...stacks, ...stacks].map((stack, i) => event(s, { stack, key: i < 2 ? "first" : "second" }));
      const emitted = [
        ...(await s.store.events.start([events[0]!])),
        ...(await s.store.events.start([events[1]!])),
        // In one call.
        ...(await s.store.events.start([events[3]!, events[2]!])),
      ];
      const runs = emitted.flatMap((answer) => (answer.outcome === "started" ? answer.runs : []));
      const outcomes = ["inserted", "inserted", "inserted", "existing"];
      same(
        runs.map(({ outcome }) => outcome),
        [...outcomes, ...outcomes],
        "outcomes",
      );
      same([runs[3]!.runId, runs[7]!.runId], [runs[1]!.runId, runs[5]!.runId], "the one run");
      const groups = await Promise.all([1, 5].map(async (i) => (await s.run(runs[i]!.runId)).group.stack));
      same(groups, [null, "blue"], "its stack");
      same(await s.store.runs.count({ env: s.env, program: "each" }), { waiting: 4 }, "one in each");
    },

  "the same call repeated finds its own runs, also when they have ended and their key is free": async (s) => {
    await declare(s, { lifetime: "live" });
    const one = event(s);
    same(await start(s, one), [made(one.id)], "first");
    same(await start(s, one), [made(one.id)], "again");
    const claims = await s.claim({ groupIds: await groupIds(s) });
    for (const claim of claims) await s.accept(claim, [complete]);
    same(await start(s, one), [made(one.id)], "when they have ended");
    const next = event(s);
    same(
      await start(s, next),
      [[made(next.id)[0], found(one.id)[1]]],
      "another: the live key is free, the archived one not",
    );
    same(await start(s, one), [[made(one.id)[0], made(one.id)[1]]], "the first call, late");
  },

  "an event of which one run needs more than a row is left alone as a whole, its neighbours are not": async (s) => {
    for (const more of [{ debounceMs: 10, subject: ["n"] }, { breaker: { threshold: 1, halfOpenMs: 1 } }]) {
      await declare(s, { ...more, where: [{ n: 1 }] });
      const other = event(s, { plain: '{"n":2}', key: s.token() });
      const answers = await start(s, event(s), other);
      same(answers, [IDS.map((id) => `${id} left`), [made(other.id)[1]]], JSON.stringify(more));
    }
    await declare(s);
    const limits = [{ kind: "slots", path: [], max: 1, perMs: null } as const];
    await s.declare([{ group: s.group({ program: "b" }), limits }]);
    same(await start(s, event(s)), [IDS.map((id) => `${id} left`)], "limits");
    const [answer] = await s.store.events.start([event(s)]);
    same(answer?.outcome === "left" && answer.matched.map((one) => one.limits), [[], limits], "limits, as declared");
    same(await s.store.runs.count({ env: s.env }), { waiting: 2 }, "runs");
  },

  "an event that cannot be stored is refused alone": async (s) => {
    await declare(s);
    const bad = [{ id: "x" }, { key: "" }, { event: "" }, { input: null }, { plain: 1 }, { env: "" }];
    const good = event(s);
    const answers = await s.store.events.start([...bad.map((more) => event(s, more as never)), good]);
    for (const [i, more] of bad.entries()) refused(answers[i]!, JSON.stringify(more));
    same(short(answers.at(-1)!), made(good.id), "its neighbour");
  },

  "runs of one call are claimed in the order of its events": async (s) => {
    await declare(s);
    const events = Array.from({ length: 20 }, (_, i) => event(s, { key: `k-${(i * 7) % 20}` }));
    await start(s, ...events);
    await s.advance(1);
    const claims = await s.claim({ groupIds: (await groupIds(s)).slice(0, 1) });
    same(
      claims.map(({ runId }) => runId),
      events.map(({ id }) => eventRunId(id, IDS[0])),
      "order",
    );
  },
});
