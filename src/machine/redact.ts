// Redacts marked fields in history, telemetry and command line: a placeholder takes their place.

const REDACTED = "[redacted]";

export const REDACT_ROOTS = ["context", "event", "input", "params"] as const;
export type RedactRoot = (typeof REDACT_ROOTS)[number];

/** A copy without the values at the paths that begin with `root`. `*` matches every key. */
export function redact(value: unknown, root: RedactRoot, paths: readonly string[]): unknown {
  return paths
    .map((path) => path.split("."))
    .filter(([first]) => first === root)
    .reduce((seen, [, ...path]) => hide(seen, path), value);
}

function hide(value: unknown, path: readonly string[]): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return REDACTED;
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => hide(item, key === "*" ? rest : path));
  const names = key === "*" ? Object.keys(value) : Object.hasOwn(value, key) ? [key] : [];
  const hidden = names.map((name) => [name, hide((value as Record<string, unknown>)[name], rest)] as const);
  return names.length === 0 ? value : { ...value, ...Object.fromEntries(hidden) };
}
