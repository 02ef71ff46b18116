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
  // A new connection forgets the numbers of groups: from the second start on, they are known.
  for (let i = 0; i < 3; i++) await store.runs.insert([newRun()]);
});
afterEach(() => vi.restoreAllMocks());
afterAll(async () => {
  await listener.end();
  await store.close();
});

interface Sent {
  readonly name?: string;
  callback?: (...args: unknown[]) => void;
}

/** What is sent and answered by name, in order. */
function followed(): string[] {
  const seen: string[] = [];
  const query = pg.Client.prototype.query as (this: pg.Client, sent: Sent) => unknown;
  vi.spyOn(pg.Client.prototype, "query").mockImplementation(function (this: pg.Client, sent: Sent) {
    const name = sent.name?.replace(/^hf_[0-9a-f]+_/, "");
    const { callback } = sent;
    if (name && callback) {
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
});

test("one start wakes once, with the group of its runs, however many they are", async () => {
  const [groupId] = await store.runs.groupIds([newRun().group]);
  await vi.waitFor(() => expect(heard.length).toBeGreaterThan(0));
  heard.length = 0;
  await store.runs.insert(newRuns(20));
  await vi.waitFor(() => expect(heard).toEqual([String(groupId)]));
});

test("a start whose key is taken wakes no node", async () => {
  const key = { scope: "s", key: "k", payloadHash: "h", lifetime: "archived", onMismatch: "conflict" } as const;
  await store.runs.insert([newRun({ key })]);
  const seen = followed();
  expect(await store.runs.insert([newRun({ key })])).toMatchObject([{ outcome: "existing" }]);
  await store.runs.insert([newRun()]);
  expect(seen.filter((one) => one === "wake sent")).toHaveLength(1);
});
