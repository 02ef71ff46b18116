// Tabs whose choice is in the address.

import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { here, href } from "../live/router.js";

export interface Tab {
  readonly id: string;
  readonly label: string;
  readonly badge?: string | number | null;
}

export function Tabs({
  tabs,
  current,
  field = "tab",
}: {
  readonly tabs: readonly Tab[];
  readonly current: string;
  readonly field?: string;
}) {
  const nav = useRef<HTMLElement>(null);
  // On a phone not all of them have room.
  useEffect(() => {
    nav.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [current, tabs.length]);
  return (
    <nav class="tabs" aria-label="Parts of this page" ref={nav}>
      {tabs.map(({ id, label, badge }, i) => (
        <a
          key={id}
          class="tab"
          aria-current={id === current ? "page" : undefined}
          href={here({ [field]: i === 0 ? null : id, at: null })}
        >
          {label}
          {badge !== undefined && badge !== null && <span class="badge">{badge}</span>}
        </a>
      ))}
    </nav>
  );
}

export function PageHead({
  title,
  children,
  back,
}: {
  readonly title: ComponentChildren;
  readonly children?: ComponentChildren;
  readonly back?: { readonly to: string; readonly label: string };
}) {
  return (
    <header class="page-head">
      {back && (
        <a class="back" href={href(back.to)}>
          ← {back.label}
        </a>
      )}
      <h1>{title}</h1>
      <div class="actions">{children}</div>
    </header>
  );
}
