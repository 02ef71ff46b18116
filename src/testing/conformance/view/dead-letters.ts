// Dead letters: listed by their ends, filtered by the code of their error, grouped.

import type { Effect } from "../../../kernel/run/effect.js";
import type { DeadLetterRow } from "../../../store/contract/view/dead-letters.js";
import { cases } from "../case.js";
import { rejects, same, some } from "../expect.js";
import { complete, payload, type Scene } from "../scene.js";

const failing = (error: object, as: "failed" | "quarantined" = "failed"): Effect => ({
  kind: "fail",
  as,
  reason: payload({ message: "no", ...error }),
});

/** Ended a moment after the one before. */
async function ended(s: Scene, effect: Effect, program = "work"): Promise<string> {
  const groupIds = await s.store.runs.groupIds([s.group({ program })]);
  const claim = await s.start({ group: { program } }, { groupIds });
  await s.advance(1);
  await s.accept(claim, [effect]);
  return claim.runId;
}

type Request = Omit<Parameters<Scene["store"]["views"]["deadLetters"]>[0], "env" | "limit">;

/** All rows, read one by one. */
async function all(s: Scene, request: Request = {}): Promise<DeadLetterRow[]> {
  const rows: DeadLetterRow[] = [];
  let after: string | undefined;
  do {
    const place = { limit: 1, ...(after !== undefined && { after }) };
    const page = await s.store.views.deadLetters({ env: s.env, ...request, ...place });
    rows.push(...page.rows);
    after = page.next ?? undefined;
  } while (after !== undefined);
  return rows;
}

export const deadLetterCases = cases("dead letters", {
  "the last to end is first; code, program and state filter all of them": async (s) => {
    await ended(s, complete);
    const first = await ended(s, failing({ code: "A" }));
    const named = await ended(s, failing({ name: "TypeError" }));
    const number = await ended(s, failing({ code: 42 }), "other");
    const odd = await ended(s, failing({ code: "A", message: "a \ud800 half" }, "quarantined"));
    const last = await ended(s, failing({ code: "A" }), "other");
    const ids = async (request: Request = {}) => (await all(s, request)).map(({ runId }) => runId);
    const letters = await all(s);
    same(
      letters.map(({ runId, code }) => [runId, code]),
      [
        [last, "A"],
        [odd, null],
        [number, "42"],
        [named, "TypeError"],
        [first, "A"],
      ],
      "letters",
    );
    same(some(letters.at(-1), "a letter").entry?.kind, "failed", "the entry with its error");
    same(await ids({ code: "A" }), [last, first], "of a code");
    same(await ids({ code: "A", program: "other" }), [last], "of a code and a program");
    same(await ids({ states: ["quarantined"] }), [odd], "of a state");
    same(await ids({ queue: "none" }), [], "of another queue");
    same((await s.store.views.deadLetters({ env: s.token(), limit: 10 })).rows, [], "of another env");
    await rejects(s.store.views.deadLetters({ env: s.env, limit: 1, states: ["waiting" as never] }), "a live state");
  },

  "groups count the last letters by program, state and code": async (s) => {
    const [a, b] = [await ended(s, failing({ code: "A" })), await ended(s, failing({ code: "A" }))];
    const c = await ended(s, failing({ code: "B" }), "other");
    const read = async (limit: number) => {
      const { groups, looked } = await s.store.views.deadGroups({ env: s.env, limit });
      return {
        looked,
        groups: groups.map(({ program, state, code, n, examples }) => [program, state, code, n, examples]),
      };
    };
    const other = ["other", "failed", "B", 1, [c]];
    const whole = { looked: { n: 3, atLeast: false }, groups: [["work", "failed", "A", 2, [b, a]], other] };
    same(await read(10), whole, "all of them");
    const part = { looked: { n: 2, atLeast: true }, groups: [other, ["work", "failed", "A", 1, [b]]] };
    same(await read(2), part, "the last two");
  },
});
