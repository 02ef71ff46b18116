// Faults of processes, and the tests that show what holds.

import { CHAOS, CONFORMS, type Fault, fault, SEEDS, UNANSWERED } from "../fault.js";

export const process: readonly Fault[] = [
  fault(
    "F01",
    [
      "A process dies at any point",
      "After every store operation; at random points of a real process; at every point of a simulated one; in mid-task.",
    ],
    UNANSWERED,
    "docs: npm start",
    CHAOS,
    SEEDS,
    "scenarios/crash: killed in mid-task",
  ),
  fault(
    "F02",
    ["A storm of `kill -9`", "Five processes, restarted; three processes that sweep timeouts."],
    CHAOS,
    "timeout/processes: two of them killed",
    "machine/crash: kill -9",
  ),
  fault(
    "F03",
    [
      "A holder pauses for longer than its lease and continues",
      "Its late writes are refused; leaders end their term before.",
    ],
    CONFORMS("commits"),
    "store/races/races-commits: a late commit is refused",
    CHAOS,
    SEEDS,
    "lease/leader: stopped for longer than its lease",
  ),
  fault(
    "F04",
    ["A holder pauses for less than its lease", "Pauses of any length; nothing is reclaimed while the lease holds."],
    SEEDS,
  ),
  fault(
    "F05",
    ["The event loop is blocked", "For longer than its lease: replaced, its late result refused, and it works again."],
    "faults/process: (F05)",
    "lease/postgres: blocked for longer than the lease",
    "engine/lease-keeper: an event loop that is blocked",
  ),
  fault(
    "F06",
    [
      "A process hangs for ever while its connections live",
      "Leases are renewed on the main thread, so nothing keeps them alive: its runs continue elsewhere when they have expired.",
    ],
    "faults/process: (F06)",
  ),
  fault(
    "F07",
    ["A step that never ends", "Step and run timeouts; late result refused."],
    "workflow/takeover: longer than",
    "workflow/takeover: whose node hangs",
  ),
  fault(
    "F08",
    [
      "An uncaught error or an unhandled rejection after the step has returned",
      "The process ends as Node.js ends it, with code 1; the step stays recorded, other runs continue elsewhere.",
    ],
    "faults/process: (F08)",
  ),
  fault(
    "F09",
    [
      "A run that kills its process or runs it out of memory, alone and next to others",
      "The crash limit; a suspect is executed alone, and no other run dies of it; timers and timeouts, too.",
    ],
    "scenarios/poison: (F09)",
    "simulator/poison",
    CONFORMS("crashes"),
    CONFORMS("sweeps"),
    SEEDS,
    "machine/overload: is given up after ten attempts",
    "timeout/sweeper",
  ),
  fault(
    "F10",
    [
      "An orderly stop with steps in flight",
      "Handed back, nothing done twice; a second signal ends it now; under npm, too.",
    ],
    "workflow/takeover: hands its run back",
    "client/signals",
  ),
  fault(
    "F11",
    ["`kill -9` in the middle of an orderly stop", "Every run continues elsewhere, recorded steps are not repeated."],
    "faults/process: (F11)",
  ),
  fault(
    "F12",
    [
      "The same node name alive twice",
      "The claim is the incarnation's and the token's; a restart reclaims what the dead one held, and nothing from a live one.",
    ],
    "store/races/races-commits: even by the same owner",
    "scenarios/crash: of the same identity",
  ),
  fault(
    "F13",
    [
      "All nodes die together and one returns",
      "It works off everything, with no more at once than its slots, and repeats each interrupted step once.",
    ],
    "faults/process: (F13)",
  ),
  fault(
    "F14",
    ["`process.exit` or `process.abort` in a step", "As F01: another process continues."],
    "faults/process: (F14)",
  ),
  fault(
    "F15",
    [
      "No file descriptors left while connections break",
      "`STORE_UNAVAILABLE` is reported, the claim is kept, and the work is done when there are some again.",
    ],
    "faults/process: (F15)",
  ),
];
