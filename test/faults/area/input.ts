// Faults of input, and the tests that show what holds.

import { CONFORMS, type Fault, fault } from "../fault.js";

export const input: readonly Fault[] = [
  fault(
    "F67",
    ["NUL anywhere", "Refused with its field, or stored without loss; never a run that cannot continue."],
    "store/security-input",
    "kernel/json-codec",
  ),
  fault("F68", ["Half a surrogate pair", "The same."], "kernel/json-codec", CONFORMS("insert")),
  fault(
    "F69",
    ["Numbers, dates, maps, cycles and what JSON changes silently", "Comes back exactly, or is refused."],
    "kernel/json-codec",
  ),
  fault(
    "F70",
    ["Huge and deep payloads", "Refused before a write, within 200 ms."],
    "kernel/json-codec: within 200 ms",
  ),
  fault(
    "F71",
    ["A history that grows without end", "Warned, then stopped; still read, cancelled and retried."],
    "workflow/generations: grows too long",
  ),
  fault(
    "F72",
    ["`__proto__` and similar names as keys and names", "Data like any other."],
    "kernel/json-codec: __proto__",
    "kernel/json-codec: named like members",
    CONFORMS("insert"),
  ),
  fault("F73", ["Hostile names", "Refused with the rule, or just names."], "kernel/name", CONFORMS("insert")),
  fault("F74", ["Any thrown value", "Recorded, shortened, and brought back as an error."], "kernel/stored-error"),
  fault(
    "F75",
    [
      "Cron lines that mean nothing or are never due",
      "Refused; one whose years have passed is never due and never spins.",
    ],
    "trigger/windows: never due",
    "trigger/scheduler: never due",
  ),
  fault("F76", ["Patterns made to be slow", "Pattern length × name length at most."], "kernel/queue-pattern: (F76)"),
];
