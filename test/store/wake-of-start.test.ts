// The wake of a start: right behind its insert, before the answer; of a start that may insert nothing, only when it did.

import pg from "pg";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { channelOf } from "../../src/store/postgres/connection/wake-sender.js";
import { openPostgres } from "../../src/store/postgres/open.js";
import { testSchema } from "../harness/database.js";
import { newRun, newRuns } from "./scene.js";

const { url, schema } = testSchema();
const store = openPostgres(url, { schema });
const heard: string[] = [];
let listener: pg.Client;

beforeAll(async () => {
  await store.migrate();
  listener = new pg.Client({ connectionString: url });
  await listener.connect();
  listener.on("notification", ({ payload }) => heard.push(payload ?? ""));
  await listener.query(`listen ${pg.escapeIdentifier(channelOf(schema))}`);
  await store.runs.insert([newRun()]);
  await untilHeard(1);
});
afterEach(() => vi.restoreAllMocks());
afterAll(async () => {
  await listener.end();
  await store.close();
});

const untilHeard = (count: number) => vi.waitFor(() => expect(heard).toHaveLength(count), 10_000);

interface Sent {
  readonly name?: string;
  callback?: (...args: unknown[]) => void;
}

/** The statements of inserts and wakes that are sent and answered, in order. */
function followed(): string[] {
  const seen: string[] = [];
  const query = pg.Client.prototype.query as (this: pg.Client, sent: Sent) => unknown;
  vi.spyOn(pg.Client.prototype, "query").mockImplementation(function (this: pg.Client, sent: Sent) {
    const name = sent.name?.replace(/^hf_[0-9a-f]+_/, "");
    const { callback } = sent;
    if (name && callback && /^(insert_|wake)/.test(name)) {
      seen.push(`${name} sent`);
      sent.callback = (...args) => {
        seen.push(`${name} answered`);
        callback(...args);
      };
    }
    return query.call(this, sent);
  } as never);
  return seen;
}

test("the wake of a start is on its way before the insert is answered", async () => {
  const seen = followed();
  await store.runs.insert([newRun()]);
  expect(seen.slice(0, 3)).toEqual(["insert_runs sent", "wake sent", "insert_runs answered"]);
  await untilHeard(2);
});

test("one start wakes once, with the group of its runs, however many they are", async () => {
  const [groupId] = await store.runs.groupIds([newRun().group]);
  const before = heard.length;
  await store.runs.insert(newRuns(20));
  await untilHeard(before + 1);
  expect(heard.at(-1)).toBe(String(groupId));
  // Another start is heard after it, and nothing in between.
  await store.runs.insert([newRun()]);
  await untilHeard(before + 2);
});

test("a start whose key is taken wakes no node", async () => {
  const key = { scope: "s", key: "k", payloadHash: "h", lifetime: "archived", onMismatch: "conflict" } as const;
  await store.runs.insert([newRun({ key })]);
  const seen = followed();
  expect(await store.runs.insert([newRun({ key })])).toMatchObject([{ outcome: "existing" }]);
  await store.runs.insert([newRun()]);
  expect(seen.filter((one) => one === "wake sent")).toHaveLength(1);
});
