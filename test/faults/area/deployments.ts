// Faults of deployments, modes and envs, and the tests that show what holds.

import { CONFORMS, type Fault, fault } from "../fault.js";

export const deployments: readonly Fault[] = [
  fault(
    "F77",
    ["A run whose program or version no node has", "Left alone and shown, never failed."],
    "client/capable-node",
  ),
  fault(
    "F78",
    [
      "Code changed under a live run",
      "Left to a node whose code fits, quarantined with a difference while there is none; or continues.",
    ],
    "workflow/takeover: no longer makes a recorded call",
    "workflow/takeover: with a step added",
    "machine/edited-definition",
    "actor/episodes: older version",
  ),
  fault(
    "F79",
    [
      "Concurrent and killed migrations, older and newer packages",
      "One migrator, resumable; a database of the first schema with work in every state is migrated and finishes it.",
    ],
    "store/migrate",
    "faults/upgrade",
  ),
  fault(
    "F80",
    [
      "A deployment: three processes rolled under load",
      "Nothing fails, nothing is done twice, nothing counts as a crash.",
    ],
    "modes/deploy: a rolling restart",
  ),
  fault(
    "F81",
    ["A storm of `kill -9` under each recovery policy", "Resumed, restarted or failed, as the program says."],
    "modes/deploy: a storm of kills",
  ),
  fault(
    "F82",
    ["Two reclaims decide on one orphan, or on an old list", "One acts; a claim granted since is left alone."],
    CONFORMS("recovery"),
  ),
  fault(
    "F83",
    [
      "A node's mode changes while it claims and works",
      "Obeyed within a second; running work continues, the rest is handed back.",
    ],
    "modes/modes: live switching",
  ),
  fault(
    "F84",
    ["Deferred work that no node takes", "Cancelled with a reason when it expires."],
    "modes/stacks: that no node takes in time",
  ),
  fault(
    "F85",
    [
      "The right to a run's work is busy, lost, or its database away",
      "Nothing begins without it; a holder that loses it stops.",
    ],
    "modes/work-claims",
  ),
  fault(
    "F86",
    ["Another env with the same names and keys", "Every answer is as if it did not exist."],
    "modes/isolation",
  ),
];
