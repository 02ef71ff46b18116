// The commands, in the order of the help.

import { approve } from "./approve.js";
import { cancel } from "./cancel.js";
import type { Command } from "./command.js";
import { dead } from "./dead.js";
import { definitions } from "./definitions.js";
import { diff } from "./diff.js";
import { fork } from "./fork.js";
import { migrate } from "./migrate.js";
import { nodes } from "./nodes.js";
import { retry } from "./retry.js";
import { rewind } from "./rewind.js";
import { runs } from "./runs.js";
import { schedules } from "./schedules.js";
import { show } from "./show.js";
import { signal } from "./signal.js";

export const COMMANDS: readonly Command[] = [
  migrate,
  nodes,
  runs,
  schedules,
  definitions,
  show,
  approve,
  signal,
  cancel,
  retry,
  rewind,
  fork,
  diff,
  dead,
];
