// Slots as small boxes.

/** At most sixteen boxes; more slots become a share of them. */
export function Slots({ busy, slots }: { readonly busy: number; readonly slots: number }) {
  const boxes = Math.min(slots, 16);
  const filled = slots === 0 ? 0 : Math.ceil((busy / slots) * boxes);
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
