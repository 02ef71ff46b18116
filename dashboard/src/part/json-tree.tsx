// A value as a tree that opens and closes; text only, whatever the value holds.

export function JsonTree({
  value,
  name,
  depth = 0,
}: {
  readonly value: unknown;
  readonly name?: string;
  readonly depth?: number;
}) {
  const label = name === undefined ? null : <span class="json-name">{name}: </span>;
  if (typeof value !== "object" || value === null) {
    return (
      <div class="json-leaf">
        {label}
        <span class={`json-${value === null ? "null" : typeof value}`}>{JSON.stringify(value) ?? "undefined"}</span>
      </div>
    );
  }
  const pairs = Object.entries(value);
  const summary = Array.isArray(value) ? `[${pairs.length}]` : `{${pairs.length}}`;
  if (pairs.length === 0)
    return (
      <div class="json-leaf">
        {label}
        {Array.isArray(value) ? "[]" : "{}"}
      </div>
    );
  return (
    <details class="json" open={depth < 2 && pairs.length <= 30}>
      <summary>
        {label}
        <span class="muted">{summary}</span>
      </summary>
      {pairs.slice(0, MOST).map(([key, one]) => (
        <JsonTree key={key} name={key} value={one} depth={depth + 1} />
      ))}
      {pairs.length > MOST && <div class="muted">and {pairs.length - MOST} more</div>}
    </details>
  );
}

const MOST = 200;
