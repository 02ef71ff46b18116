// All planted bugs, by the part they are planted in.

import { engine } from "./engine.js";
import { ground } from "./ground.js";
import type { Mutant } from "./mutant.js";

export const MUTANTS: readonly Mutant[] = [...ground, ...engine];
