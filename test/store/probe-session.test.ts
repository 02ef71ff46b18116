// What a session can do is tried, not assumed: each probe fails by itself on a server that refuses or forgets.

import type pg from "pg";
import { expect, test } from "vitest";
import type { World } from "../../src/kernel/world.js";
import { probeSession } from "../../src/store/postgres/probe-session.js";

/** Time passes at once. */
const world = {
  after(_ms: number, then: () => void) {
    queueMicrotask(then);
    return () => {};
  },
} as unknown as World;

/** Answers by the first pattern that its SQL has. */
function server(answers: readonly (readonly [RegExp, object | "refused"])[]): pg.ClientBase {
  const query = async (asked: string | { readonly text: string }) => {
    const text = typeof asked === "string" ? asked : asked.text;
    const answer = answers.find(([pattern]) => pattern.test(text))?.[1] ?? {};
    if (answer === "refused") throw new RangeError("not supported");
    return { rows: [answer] };
  };
  return { query, on() {}, removeListener() {} } as unknown as pg.ClientBase;
}

test("a server that refuses locks, delivers nothing and forgets settings falls back in each", async () => {
  const refusing = server([
    [/advisory/, "refused"],
    [/listen|notify/, { channel: "c" }],
    [/set_config|current_setting/, { value: null }],
    [/::int as one/, "refused"],
    [/channel/, { channel: "c" }],
  ]);
  expect(await probeSession(refusing, world)).toEqual({
    advisoryLocks: false,
    notifications: false,
    settings: false,
    preparedStatements: false,
  });
});

test("a lock that others cannot see between two statements counts as none", async () => {
  const forgetful = server([
    [/pg_locks/, { held: 0 }],
    [/unlock/, { done: true }],
    [/current_setting/, { value: "kept" }],
    [/as one/, { one: 1 }],
    [/channel/, { channel: "c" }],
  ]);
  expect(await probeSession(forgetful, world)).toEqual({
    advisoryLocks: false,
    notifications: false,
    settings: true,
    preparedStatements: true,
  });
});
