// Faults of clocks and time, and the tests that show what holds.

import { CONFORMS, type Fault, fault, SEEDS } from "../fault.js";

export const time: readonly Fault[] = [
  fault(
    "F47",
    ["A node's clock is minutes off", "Also a real process under libfaketime; timeouts, too."],
    "store/clock: a node whose clock is ten minutes off",
    "store/clock: a process at",
    "timeout/processes: a process at",
    "machine/crash: a node's own clock decides nothing",
  ),
  fault("F48", ["A node's clock jumps while it runs", "Timers of machines: not early, not late."], "machine/crash"),
  fault("F49", ["The database's clock jumps", "Simulated: forward it may cause takeovers, never two holders."], SEEDS),
  fault(
    "F50",
    [
      "Clocks that change, also by half an hour and at midnight",
      "One run per slot, also through the store with two nodes.",
    ],
    "trigger/windows: clocks that change",
    "trigger/scheduler: one run per slot",
  ),
  fault("F51", ["A wait beyond 24.8 days", "Long timers are made of shorter ones."], "kernel/system-world: (F51)"),
  fault(
    "F52",
    ["`now()` in a long transaction", "No statement reads it: delays, leases and due times count from the call."],
    "store/clock: (F52)",
  ),
  fault(
    "F53",
    [
      "Windows due while everything is down; ten thousand sleepers due at once",
      "Each once, a hundred windows of a schedule per second.",
    ],
    "trigger/scheduler: everything down for ten minutes",
    "trigger/scheduler: a hundred windows a second",
    "engine/schedules",
    "engine/sleepers",
    "machine/timers: while no node runs",
    "machine/overload",
  ),
  fault(
    "F54",
    ["Microseconds lost on the way through a Date", "Pages go by id; times leave as whole milliseconds."],
    CONFORMS("lists"),
  ),
  fault("F55", ["Odd TimeZone and DateStyle", "The same results."], "store/sessions: an odd time zone"),
];
