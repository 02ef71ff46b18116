// A path to a place inside a value, as a caller would write it: `input.items[3].price`.

/** One step down: an object's key, an array's index, or a place in a Map or Set. */
export type PathStep = string | number | CollectionStep;

export interface CollectionStep {
  readonly of: "map-key" | "map-value" | "set-member";
  readonly index: number;
}

const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;
const LONGEST_KEY = 80;
/** A path through 200 levels is no help, but its two ends are. */
const SHOWN_AT_EACH_END = 10;

export function formatPath(root: string, steps: readonly PathStep[]): string {
  const hidden = steps.length - 2 * SHOWN_AT_EACH_END;
  if (hidden <= 1) return steps.reduce(stepInto, root);
  const head = steps.slice(0, SHOWN_AT_EACH_END).reduce(stepInto, root);
  const tail = steps.slice(-SHOWN_AT_EACH_END).reduce(stepInto, "");
  return `${head}…(${hidden} levels)…${tail}`;
}

function stepInto(path: string, step: PathStep): string {
  if (typeof step === "number") return `${path}[${step}]`;
  if (typeof step === "string") {
    if (step.length > LONGEST_KEY) return `${path}[${JSON.stringify(`${step.slice(0, LONGEST_KEY)}…`)}]`;
    return IDENTIFIER.test(step) ? `${path}.${step}` : `${path}[${JSON.stringify(step)}]`;
  }
  if (step.of === "set-member") return `[...${path}][${step.index}]`;
  return `[...${path}.${step.of === "map-key" ? "keys" : "values"}()][${step.index}]`;
}
