// The views, the audit and the tokens, asked of both stores between the steps of a history: no draw of its own changes.

import type { Store } from "../../../src/store/contract/store.js";
import type { ViewPage } from "../../../src/store/contract/view/views.js";
import type { BothStores, Call } from "./differential-stores.js";

const ENVS = ["test", "other"] as const;
const PAGE = 3;
const MOST_PAGES = 4;
/** Every figure of a history. */
const AGES = { from: 0, to: Date.UTC(2099, 0, 1) };

/** The first pages, one after the other. */
async function pages<Row>(read: (after: string | undefined) => Promise<ViewPage<Row>>): Promise<Row[][]> {
  const all: Row[][] = [];
  let after: string | undefined;
  do {
    const page = await read(after);
    all.push([...page.rows]);
    after = page.next ?? undefined;
  } while (after !== undefined && all.length < MOST_PAGES);
  return all;
}

const place = (env: string, after: string | undefined) => ({ env, limit: PAGE, ...(after !== undefined && { after }) });

export function viewCalls(both: BothStores, i: number): [name: string, call: Call][] {
  const { runs } = both.snapshot();
  const ids = runs.map(({ id }) => id);
  const some = ids.filter((_, n) => n % 3 === i % 3);
  const requests = some.flatMap((runId, n) => [
    { runId, limit: 2, last: n % 2 === 0 },
    { runId, after: n % 4, before: 5, limit: 3 },
  ]);
  const owner = runs.find((run) => run.owner !== null)?.owner ?? both.unknownId;
  const perEnv = ENVS.flatMap((env): [string, Call][] => [
    ["views.count", (store) => store.views.count({ env }, 5)],
    ["views.ended", (store) => store.views.ended({ env, limit: 7, after: `0/${both.unknownId}` })],
    ["views.count", (store) => store.views.count({ env, states: ["failed", "waiting"] }, 2)],
    ["list held", (store) => store.runs.list({ env, owner }, { limit: 100 })],
    ["views.questions", (store) => pages((after) => store.views.questions(place(env, after)))],
    ["views.takeovers", (store) => pages((after) => store.views.takeovers(place(env, after)))],
    ["views.leases", (store) => pages((after) => store.views.leases({ ...place(env, after), prefix: "lease-" }))],
    ["views.timers", (store) => pages((after) => store.views.timers({ ...place(env, after), state: "pending" }))],
    ["views.timers", (store) => pages((after) => store.views.timers({ ...place(env, after), state: "dead" }))],
    ["views.limits", (store) => pages((after) => store.views.limits(place(env, after)))],
    ["views.deadLetters", (store) => pages((after) => store.views.deadLetters(place(env, after)))],
    ["views.deadLetters", (store) => store.views.deadLetters({ env, limit: 9, code: "CRASH_LIMIT", states: ["dead"] })],
    ["views.deadGroups", (store) => store.views.deadGroups({ env, limit: i % 2 === 0 ? 2 : 100 })],
    ["statistics.collect", (store) => store.statistics.collect({ env, everyMs: i % 2 === 0 ? 0 : 20_000 })],
    ["statistics.figures", (store) => store.statistics.figures({ env, ...AGES, stepMs: 60_000 })],
    ["statistics.figures", (store) => store.statistics.figures({ env, ...AGES, stepMs: 10_000, queue: "a" })],
    ["statistics.programs", (store) => store.statistics.programs({ env, ...AGES })],
    ["audit.list", (store) => store.audit.list({ env, by: "ann" }, { limit: 3 })],
  ]);
  return [
    ["views.waitsFor", (store) => store.views.waitsFor([...some, "no id", both.unknownId])],
    ["views.envs", (store) => store.views.envs()],
    ["views.runs", (store) => store.views.runs([...some, "no id", both.unknownId])],
    ["views.outline", (store) => store.views.outline([...requests, { runId: "no id", limit: 1 }])],
    ...perEnv,
    ...changes(both, i),
  ];
}

/** Ids by number, so that a repeated one is met, too. */
function changes(both: BothStores, i: number): [name: string, call: Call][] {
  const id = both.unknownId.replace(/0{4}$/, String(i % 7000).padStart(4, "0"));
  const nothing = { before: null, after: null, note: null, request: null };
  const row = { id, env: ENVS[i % 2]!, by: "ann", via: "test", action: "queues.resume", object: "q", ...nothing };
  const token = { id, hash: `hash-${i % 50}-${id}`, name: "t", may: ["see"], envs: null, groups: ["g"], by: "me" };
  const resume = (store: Store) => store.queues.resume(row.env, "no queue");
  return [
    ["audit.record", (store) => store.audit.record(row, () => resume(store))],
    ["tokens.create", (store) => store.tokens.create({ ...token, expiresInMs: i % 2 === 0 ? 40 : null })],
    ["tokens.use", (store) => store.tokens.use(token.hash)],
    ["tokens.revoke", (store) => store.tokens.revoke(i % 3 === 0 ? id : both.unknownId)],
    ["tokens.list", (store) => store.tokens.list()],
  ];
}
