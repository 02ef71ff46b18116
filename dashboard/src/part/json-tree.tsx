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
  if (depth === 0 && isShort(value)) return <ShortValue pairs={pairs} isList={Array.isArray(value)} />;
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
const SHORT = 70;

/** A few plain fields fit a line. */
function isShort(value: object): boolean {
  return (
    Object.values(value).every((one) => typeof one !== "object" || one === null) &&
    JSON.stringify(value).length <= SHORT
  );
}

function ShortValue({ pairs, isList }: { readonly pairs: readonly [string, unknown][]; readonly isList: boolean }) {
  return (
    <div class="json-line">
      {pairs.map(([key, one]) => (
        <JsonTree key={key} value={one} depth={1} {...(!isList && { name: key })} />
      ))}
    </div>
  );
}
