// The commands, in the order of the help.

import { approve } from "./approve.js";
import { cancel } from "./cancel.js";
import type { Command } from "./command.js";
import { dead } from "./dead.js";
import { diff } from "./diff.js";
import { emit } from "./emit.js";
import { fork } from "./fork.js";
import { instance } from "./instance.js";
import { instances } from "./instances.js";
import { migrate } from "./migrate.js";
import { nodes } from "./nodes.js";
import { pause, resume } from "./pause.js";
import { retry } from "./retry.js";
import { rewind } from "./rewind.js";
import { runs } from "./runs.js";
import { schedules } from "./schedules.js";
import { send } from "./send.js";
import { show } from "./show.js";
import { signal } from "./signal.js";
import { subscriptions } from "./subscriptions.js";

export const COMMANDS: readonly Command[] = [
  migrate,
  nodes,
  runs,
  schedules,
  subscriptions,
  emit,
  show,
  approve,
  signal,
  cancel,
  pause,
  resume,
  retry,
  rewind,
  fork,
  diff,
  dead,
  instances,
  instance,
  send,
];
