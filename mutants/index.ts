// All planted bugs, by the part they are planted in.

import { chaos } from "./chaos.js";
import { ground } from "./ground.js";
import type { Mutant } from "./mutant.js";

export const MUTANTS: readonly Mutant[] = [...ground, ...chaos];
