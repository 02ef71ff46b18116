// Faults of races and load, and the tests that show what holds.

import { CONFORMS, type Fault, fault } from "../fault.js";

export const racesAndLoad: readonly Fault[] = [
  fault(
    "F56",
    ["Fifty claimers on one run and on ten thousand", "Each is granted once."],
    "store/races/races-claims: fifty claimers",
  ),
  fault(
    "F57",
    ["A reclaim against a completion", "One wins, and a completed run stays completed."],
    "store/races/races-claims: a completion and a reclaim",
  ),
  fault(
    "F58",
    ["Two nodes reclaim from one stale list", "Each run once, and each timeout."],
    "store/races/races-claims: the same stale list",
    "store/races/races-timeouts",
  ),
  fault(
    "F59",
    ["Cancel against complete, reclaim and signal", "One wins, the others learn which."],
    "store/races/races-commits: cancel",
    "store/races/races-inbox: of a decision, its timeout and a cancel",
    CONFORMS("cancel"),
  ),
  fault(
    "F60",
    ["Two decisions on one wait", "One is accepted, the other gets the name of the first."],
    CONFORMS("messages"),
  ),
  fault(
    "F61",
    ["The same key a hundred times, and with another payload", "One run; the same events from five processes, too."],
    "store/races/races-keys: one key a hundred times",
    "trigger/emit-processes: five processes",
  ),
  fault(
    "F62",
    ["Limits and serial keys under retries, takeovers and lost calls", "Never more than the limit, in order."],
    "store/races/races-limits",
    "engine/limits",
    CONFORMS("limits"),
    "store/races/races-overflow",
    "simulator/actors",
  ),
  fault(
    "F63",
    [
      "A renewal that fails against one that answers no",
      "An error keeps the claim until its lease ends, a no ends the work.",
    ],
    "lease/hold",
    "engine/lease-keeper: cannot renew",
    "lease/leader: an error while renewing",
  ),
  fault(
    "F64",
    ["One poisoned row in a batch", "The others are written."],
    "store/security-input: one poisoned row",
    CONFORMS("insert"),
    "machine/timers: timers that cannot fire",
  ),
  fault(
    "F65",
    [
      "Starvation: work that fails for ever, or one large queue",
      "What fails backs off and is given up, other timers fire in time; a claim takes from every queue.",
    ],
    "machine/timers: more failing timers",
    "timeout/sweeper",
    "scenarios/fair-share",
  ),
  fault(
    "F66",
    [
      "A storm of retries: ten thousand runs fail at the same moment",
      "Jitter spreads their next attempts over a fifth of the delay; at most two looks per run on fifty nodes (five in CI). A single start still makes every idle node of its group look once.",
    ],
    "kernel/retry: (F66)",
    "faults/load: (F66)",
    "actor/episode-task: (F66)",
  ),
];
