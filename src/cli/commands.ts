// The commands, in the order of the help.

import { approve } from "./approve.js";
import { cancel } from "./cancel.js";
import type { Command } from "./command.js";
import { dead } from "./dead.js";
import { instance } from "./instance.js";
import { instances } from "./instances.js";
import { migrate } from "./migrate.js";
import { nodes } from "./nodes.js";
import { retry } from "./retry.js";
import { runs } from "./runs.js";
import { schedules } from "./schedules.js";
import { send } from "./send.js";
import { show } from "./show.js";
import { signal } from "./signal.js";

export const COMMANDS: readonly Command[] = [
  migrate,
  nodes,
  runs,
  schedules,
  show,
  approve,
  signal,
  cancel,
  retry,
  dead,
  instances,
  instance,
  send,
];
