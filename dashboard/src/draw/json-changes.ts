// What differs between two JSON values, as lines for people: one per changed, added or removed field. Pure.

export type Change = {
  /** `tasks.clean.retry`. */
  readonly path: string;
  /** Undefined: the field is not there. */
  readonly before: unknown;
  readonly after: unknown;
};

/** Objects are compared field by field, lists place by place; everything else as a whole. */
export function jsonChanges(before: unknown, after: unknown, path = ""): readonly Change[] {
  if (isBranch(before) && isBranch(after) && Array.isArray(before) === Array.isArray(after)) {
    const names = new Set([...Object.keys(before), ...Object.keys(after)]);
    return [...names].flatMap((name) =>
      jsonChanges(own(before, name), own(after, name), path === "" ? name : `${path}.${name}`),
    );
  }
  return JSON.stringify(before) === JSON.stringify(after) ? [] : [{ path, before, after }];
}

export function changeText({ path, before, after }: Change): string {
  const where = path === "" ? "the whole" : path;
  if (before === undefined) return `+ ${where}: ${JSON.stringify(after)}`;
  if (after === undefined) return `− ${where}: ${JSON.stringify(before)}`;
  return `${where}: ${JSON.stringify(before)} → ${JSON.stringify(after)}`;
}

const isBranch = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null;

const own = (of: Readonly<Record<string, unknown>>, name: string) => (Object.hasOwn(of, name) ? of[name] : undefined);
