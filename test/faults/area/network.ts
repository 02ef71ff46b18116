// Faults of the network, and the tests that show what holds.

import { CHAOS, CONFORMS, type Fault, fault, SEEDS, UNANSWERED } from "../fault.js";

export const network: readonly Fault[] = [
  fault("F39", ["All connections reset", "Nothing acknowledged is lost, nothing is done twice."], CHAOS, UNANSWERED),
  fault(
    "F40",
    [
      "One node in a black hole",
      "Bytes held back for 1 to 5 s, sockets kept; taken over, late write refused; or back before the reclaim, claim kept.",
    ],
    CHAOS,
    "scenarios/partition",
  ),
  fault("F41", ["A COMMIT without an answer", "Every operation; under load."], UNANSWERED, CONFORMS("commits"), CHAOS),
  fault(
    "F42",
    ["A request or a reply lost", "As if it had arrived, or had never been sent."],
    UNANSWERED,
    SEEDS,
    CHAOS,
  ),
  fault("F43", ["Latency", "No claim is lost to it."], CHAOS),
  fault("F44", ["Nodes cut off one by one, healed in another order", "Faults of several nodes overlap."], CHAOS),
  fault(
    "F45",
    ["No database at the start, or refused in between", "Reported within seconds; nodes wait and continue."],
    "cli/surroundings: unreachable",
    "engine/outage",
  ),
  fault("F46", ["PgBouncer in transaction mode", "The whole contract."], "conformance/pgbouncer"),
];
