// Turns what was measured in rounds into figures of every library and ratios of Holdfast to the others.

import type { Library } from "../library/library.js";
import { figuresOf, ONE_ROW_COMMITS, type Quantity, ratiosOf, type Samples } from "./figure.js";

/** `values`: by library, of each round, one number per quantity. `commits`: one-row commits per second, of each round. */
export function summary(
  quantities: readonly Quantity[],
  values: ReadonlyMap<Library, readonly (readonly number[])[]>,
  commits: readonly number[],
) {
  const samples = new Map<string, Samples>();
  for (const [i, quantity] of quantities.entries()) {
    const ofLibrary = [...values].map(([{ name }, rounds]) => [name, rounds.map((one) => one[i]!)] as const);
    samples.set(quantity.name, new Map(ofLibrary));
  }
  return {
    samples,
    figures: quantities.flatMap((quantity) => figuresOf(quantity, samples.get(quantity.name)!)),
    ratios: quantities.flatMap((quantity) => {
      const yardstick = quantity.better === "higher" ? [[ONE_ROW_COMMITS, commits] as const] : [];
      return ratiosOf(quantity, new Map([...samples.get(quantity.name)!, ...yardstick]));
    }),
  };
}
