// The operations on statistics as values.

import { InvalidInput } from "../../../kernel/error.js";
import {
  type CollectRound,
  type FiguresRequest,
  STEPS_MS,
  type StatisticsStore,
} from "../../contract/statistic/statistics.js";
import { CHANGES, type OperationsOf, READS } from "../../operation.js";
import { type Check, checkDelay, checkInstant, checkText, optional, shape, whole } from "../value.js";

const checkStep: Check = (path, step) =>
  STEPS_MS.includes(step as never) ? null : new InvalidInput(path, `must be one of ${STEPS_MS.join(", ")}`);

export const STATISTIC_OPERATIONS = {
  collect: {
    ...CHANGES,
    changes: "figures of the last closed steps",
    repeated: false,
    check: whole(shape<CollectRound>("round", { env: checkText, everyMs: checkDelay })),
  },
  figures: {
    ...READS,
    check: whole(
      shape<FiguresRequest>("request", {
        env: checkText,
        from: checkInstant,
        to: checkInstant,
        stepMs: checkStep,
        program: optional(checkText),
        queue: optional(checkText),
      }),
    ),
  },
  programs: {
    ...READS,
    check: whole(
      shape<Omit<FiguresRequest, "stepMs">>("request", { env: checkText, from: checkInstant, to: checkInstant }),
    ),
  },
} satisfies OperationsOf<StatisticsStore>;
