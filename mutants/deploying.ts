// Planted bugs in the handling of misfits: runs that some code does not fit.

import type { Killer, Mutant } from "./mutant.js";

const CONFORMANCE = "test/conformance/postgres.test.ts";
const REVIEW = "src/store/postgres/run/review-misfits.ts";
const MISFIT = "src/store/postgres/run/misfit-sql.ts";
const SIMULATED: readonly Killer[] = [{ file: "test/simulator/rolling.test.ts" }];

export const deploying: readonly Mutant[] = [
  {
    name: "code that does not fit a journal fails its run",
    breaks: "a deployment ends nothing",
    edits: [
      {
        file: "src/replay/settlement.ts",
        find: '  return { kind: "misfit", build, reason: storeError(codecs, error) };',
        put: '  return { kind: "fail", as: build ? "failed" : "quarantined", reason: storeError(codecs, error) };',
      },
    ],
    killedBy: SIMULATED,
  },
  {
    name: "a node claims again what its code does not fit",
    breaks: "a build tries a journal once",
    edits: [
      {
        file: "src/store/postgres/claim/claim-runs.ts",
        find: "      and (r.misfits is null or not r.misfits && $7::text[])",
        put: "      and $7::text[] is not null",
      },
    ],
    killedBy: [{ file: CONFORMANCE, test: "claimed by nodes of other builds only" }],
  },
  {
    name: "a run that does not fit forgets its crashes",
    breaks: "handed back uncounted",
    edits: [
      {
        file: "src/store/postgres/claim/commit.ts",
        find: `f.failed or (f.to_state = 'waiting' and not f.continues and f.n = 1)\${more ? " or f.build is not null" : ""}`,
        put: "f.failed",
      },
    ],
    killedBy: [{ file: CONFORMANCE, test: "its crashes are what they were" }],
  },
  {
    name: "a quarantined child is reported as ended",
    breaks: "a parent waits for a quarantined child",
    edits: [
      {
        file: "src/kernel/run/effect.ts",
        find: '(effect.kind === "fail" && effect.as !== "quarantined")',
        put: 'effect.kind === "fail"',
      },
    ],
    killedBy: [{ file: CONFORMANCE, test: "a quarantined task is still waited for" }],
  },
  {
    name: "a node that starts does not lift the quarantine",
    breaks: "quarantine is lifted when fitting code starts",
    edits: [
      {
        file: REVIEW,
        find: "select id from judged where fits and state",
        put: "select id from judged where false and state",
      },
    ],
    killedBy: [{ file: CONFORMANCE, test: "a node of another build that comes lifts the quarantine" }],
  },
  {
    name: "any node lifts a quarantine, even one whose build was tried",
    breaks: "a build tries a journal once",
    edits: [
      {
        file: REVIEW,
        find: "exists (select from live n where l.claim_group = any(n.claims) and not n.names && l.misfits)",
        put: "exists (select from live n where l.claim_group = any(n.claims))",
      },
      {
        file: REVIEW,
        find: " and r.state = 'quarantined' and not r.misfits && ${NAMES} limit 1",
        put: " and r.state = 'quarantined' limit 1",
      },
    ],
    killedBy: [{ file: CONFORMANCE, test: "a node of another build that comes lifts the quarantine" }],
  },
  {
    name: "a build that names two codes is left out as a whole",
    breaks: "the code that fits continues the run",
    edits: [
      {
        file: MISFIT,
        find: "case when w.build = l.build and w.incarnation <> l.owner then l.owner::text else l.build end",
        put: "l.build",
      },
    ],
    killedBy: [{ file: CONFORMANCE, test: "where one build names two codes" }],
  },
  {
    name: "another env's node keeps a run from its quarantine",
    breaks: "nothing crosses the border of an env",
    edits: [{ file: MISFIT, find: "where n.env = g.env and ${isLiveNode", put: "where ${isLiveNode" }],
    killedBy: [{ file: CONFORMANCE, test: "another env's nodes are not asked" }],
  },
  {
    name: "misfits outlive their generation",
    breaks: "every build tries a new generation",
    edits: [
      {
        file: "src/store/postgres/migrations/0001-misfits.ts",
        find: "old.generation <> new.generation",
        put: "old.generation < new.generation - 1",
      },
    ],
    killedBy: [{ file: CONFORMANCE, test: "are forgotten with the generation" }],
  },
];
