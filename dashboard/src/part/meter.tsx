// Slots as small boxes.

/** At most sixteen boxes; more slots become a share of them. */
export function Slots({ busy, slots }: { readonly busy: number; readonly slots: number }) {
  if (slots === 0) return <span class="muted">none</span>;
  const boxes = Math.min(slots, 16);
  const filled = Math.ceil((busy / slots) * boxes);
  return (
    <span class="slots" title={`${busy} of ${slots} slots are busy`}>
      <span aria-hidden="true">
        {Array.from({ length: boxes }, (_, i) => (
          <i key={i} class={i < filled ? "is-busy" : ""} />
        ))}
      </span>
      <span class="num">
        {busy}/{slots}
      </span>
    </span>
  );
}
