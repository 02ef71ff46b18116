// Renamed states: converts stored paths and state values to the names of the current definition.

type Renamed = Readonly<Record<string, string>>;

/** The longest matching renamed path counts. */
export function renamePath(renamed: Renamed, path: string): string {
  const old = Object.keys(renamed)
    .filter((from) => path === from || path.startsWith(`${from}.`))
    .sort((a, b) => b.length - a.length)[0];
  return old === undefined ? path : `${renamed[old]}${path.slice(old.length)}`;
}

/** `"a"`, or `{ a: "b" }`, or several regions: split into paths, renamed, put together again. */
export function renameValue(renamed: Renamed, value: unknown): unknown {
  const paths = pathsOf(value).map((path) => renamePath(renamed, path));
  return paths.length === 0 ? value : valueAt(paths.map((path) => path.split(".")));
}

/** Its leaves. */
export function pathsOf(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => {
    const under = pathsOf(inner);
    return under.length === 0 ? [key] : under.map((path) => `${key}.${path}`);
  });
}

function valueAt(paths: readonly (readonly string[])[]): unknown {
  if (paths.length === 1 && paths[0]!.length === 1) return paths[0]![0];
  const keys = [...new Set(paths.map(([first]) => first!))];
  return Object.fromEntries(
    keys.map((key) => {
      const rest = paths.filter(([first]) => first === key).map((path) => path.slice(1));
      return [key, rest.every((path) => path.length === 0) ? {} : valueAt(rest)];
    }),
  );
}
