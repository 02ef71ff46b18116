// Planted bugs in timeouts and leaders: each fires twice, too early, never, or lets two lead.

import type { Mutant } from "./mutant.js";

const CLAIMS = "src/store/postgres/timeout/claim-timeouts.ts";
const FIRING = "src/timeout/fire-timeout.ts";
const TERM = "src/lease/leader-term.ts";

export const timeouts: readonly Mutant[] = [
  {
    name: "a timeout completed without the claim's token",
    breaks: "an old claim completes nothing",
    edits: [
      {
        file: CLAIMS,
        find: 'FENCES.from(1).as("a"), "o.token = a.token")}\n)\ndelete',
        put: 'FENCES.from(1).as("a"), "true")}\n)\ndelete',
      },
      {
        file: CLAIMS,
        find: "where o.generation = m.generation and o.token = m.token\nreturning o.generation, o.token`",
        put: "where o.generation = m.generation\nreturning o.generation, m.token`",
      },
    ],
    killedBy: [{ file: "test/conformance/postgres.test.ts", test: "its late holder can do nothing" }],
  },
  {
    name: "a sweeper lists timeouts and then fires whatever is stored",
    breaks: "the conditional fire",
    edits: [
      {
        file: FIRING,
        find: "outcome = await fire(claim, {",
        put: "outcome = await fire({ ...claim, ...(await store.get(claim.instance)) }, {",
      },
    ],
    killedBy: [{ file: "test/timeout/sweeper.test.ts", test: "between the claim and the firing" }],
  },
  {
    name: "a timeout claimed without looking at its due time again",
    breaks: "one claim at a time",
    edits: [
      { file: CLAIMS, find: '"o.due_at <= (select now from t)")}', put: '"true")}' },
      {
        file: CLAIMS,
        find: "where o.generation = f.generation and (o.due_at <= t.now) is true",
        put: "where o.generation = f.generation",
      },
    ],
    killedBy: [
      { file: "test/conformance/postgres.test.ts", test: "a second claim returns which node holds the first" },
    ],
  },
  {
    name: "a timeout scheduled again keeps its generation",
    breaks: "an old claim completes nothing",
    edits: [
      {
        file: "src/store/postgres/timeout/timeouts.ts",
        find: "set generation = excluded.generation, state",
        put: "set state",
      },
    ],
    killedBy: [{ file: "test/conformance/postgres.test.ts", test: "it has another generation" }],
  },
  {
    name: "a failing timeout stays at the head of the line",
    breaks: "poison starves no other timeout",
    edits: [
      { file: FIRING, find: "store.release(claim, { retryInMs, problem })", put: "store.release(claim, { problem })" },
    ],
    killedBy: [{ file: "test/timeout/sweeper-trouble.test.ts", test: "starves no other" }],
  },
  {
    name: "a hanging handler keeps its place",
    breaks: "poison starves no other timeout",
    edits: [
      {
        file: FIRING,
        find: "return Promise.race([this.#fire(claim, abort.signal).finally(cancel), over]);",
        put: "void over;\n    return this.#fire(claim, abort.signal).finally(cancel);",
      },
    ],
    killedBy: [{ file: "test/timeout/sweeper-trouble.test.ts", test: "keeps one place until its claim expires" }],
  },
  {
    name: "a sweeper that pauses for the interval only",
    breaks: "lateness is not the interval",
    edits: [
      {
        file: "src/timeout/sweep-pause.ts",
        find: "return Math.min(longest, Math.max(nextInMs ?? longest, SHORTEST_PAUSE_MS));",
        put: "return nextInMs === -1 ? SHORTEST_PAUSE_MS : longest;",
      },
    ],
    killedBy: [{ file: "test/timeout/sweeper.test.ts", test: "neither early nor an interval late" }],
  },
  {
    name: "a leader in doubt keeps leading",
    breaks: "one leader at a time",
    edits: [
      {
        file: TERM,
        find: "return this.#leftMs() > 0 ? (this.#term?.term ?? null) : null;",
        put: "return this.#term?.term ?? null;",
      },
      {
        file: TERM,
        find: 'this.#cancelDoubt = this.#parts.world.after(leftMs, () => this.#endTerm("doubt"));',
        put: "this.#cancelDoubt = () => {};",
      },
    ],
    killedBy: [{ file: "test/lease/leader.test.ts", test: "two never lead at the same time" }],
  },
  {
    name: "a leader that trusts its timers",
    breaks: "a stopped process does not lead",
    edits: [
      {
        file: TERM,
        find: "return this.#leftMs() > 0 ? (this.#term?.term ?? null) : null;",
        put: "return this.#term?.term ?? null;",
      },
    ],
    killedBy: [{ file: "test/lease/leader.test.ts", test: "before any timer has run" }],
  },
  {
    name: "a leader dropped by an error",
    breaks: "an error ends nothing",
    edits: [
      { file: TERM, find: "if (this.#parts.lease.signal.aborted) this.#lose();", put: "if (error) this.#lose();" },
    ],
    killedBy: [{ file: "test/lease/leader.test.ts", test: "an error while renewing drops nothing" }],
  },
  {
    name: "a timeout that always fails is never given up",
    breaks: "a failing timeout is dead-lettered",
    edits: [{ file: FIRING, find: "if (claim.attempts >= settings.maxAttempts) {", put: "if (claim.attempts < 0) {" }],
    killedBy: [{ file: "test/timeout/sweeper-trouble.test.ts", test: "given up after its attempts" }],
  },
  {
    name: "a timeout that kills its process is claimed for ever",
    breaks: "a failing timeout is dead-lettered",
    edits: [
      {
        file: FIRING,
        find: "if (answer.claim.attempts > settings.maxAttempts) {",
        put: "if (answer.claim.attempts < 0) {",
      },
    ],
    killedBy: [{ file: "test/timeout/sweeper-trouble.test.ts", test: "that kills its process is given up" }],
  },
  {
    name: "a nearer deadline of another process wakes no sweeper",
    breaks: "lateness is not the interval",
    edits: [
      {
        file: "src/store/postgres/timeout/timeout-wakes.ts",
        find: "if (announced !== undefined && announced > now && announced <= now + dueInMs) return;",
        put: "if (announced !== undefined || now >= 0) return;",
      },
    ],
    killedBy: [{ file: "test/timeout/told.test.ts", test: "a nearer deadline of another process fires in time" }],
  },
  {
    name: "a far deadline hides nearer ones",
    breaks: "lateness is not the interval",
    edits: [
      {
        file: "src/store/postgres/timeout/timeout-wakes.ts",
        find: "announced > now && announced <= now + dueInMs) return;",
        put: "announced > now) return;",
      },
    ],
    killedBy: [{ file: "test/timeout/told.test.ts", test: "a nearer deadline of another process fires in time" }],
  },
];
