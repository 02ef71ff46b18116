// The rail of pages at the left, and the bar of five at the bottom of a phone.

import { useEffect, useRef } from "preact/hooks";
import { address, href } from "../live/router.js";
import { Icon } from "./icon.js";

export interface Counts {
  readonly approvals: number;
  readonly dead: number;
  readonly alive: number;
  readonly silent: number;
}

interface Entry {
  readonly to: string;
  readonly label: string;
  readonly icon: string;
  readonly badge?: (counts: Counts) => { readonly n: number; readonly tone: string };
}

const SECTIONS: readonly { readonly title: string; readonly entries: readonly Entry[] }[] = [
  {
    title: "Now",
    entries: [
      { to: "/", label: "Overview", icon: "overview" },
      {
        to: "/approvals",
        label: "Approvals",
        icon: "approvals",
        badge: ({ approvals }) => ({ n: approvals, tone: "is-note" }),
      },
      { to: "/dead", label: "Dead letters", icon: "dead", badge: ({ dead }) => ({ n: dead, tone: "is-bad" }) },
    ],
  },
  {
    title: "Work",
    entries: [
      { to: "/runs", label: "Runs", icon: "runs" },
      { to: "/queues", label: "Queues & limits", icon: "queues" },
      { to: "/schedules", label: "Schedules", icon: "schedules" },
      { to: "/triggers", label: "Triggers", icon: "triggers" },
      { to: "/machines", label: "Machines", icon: "machines" },
      { to: "/timers", label: "Timers", icon: "timers" },
    ],
  },
  {
    title: "Fleet",
    entries: [
      {
        to: "/nodes",
        label: "Nodes",
        icon: "nodes",
        badge: ({ alive, silent }) => (silent > 0 ? { n: silent, tone: "is-warn" } : { n: alive, tone: "" }),
      },
      { to: "/leases", label: "Leases", icon: "leases" },
    ],
  },
  { title: "Catalogue", entries: [{ to: "/programs", label: "Programs", icon: "programs" }] },
  {
    title: "Keep",
    entries: [
      { to: "/audit", label: "Audit", icon: "audit" },
      { to: "/settings", label: "Settings", icon: "settings" },
      { to: "/doctor", label: "Doctor", icon: "plus" },
    ],
  },
];

export function Rail({ counts }: { readonly counts: Counts | null }) {
  return (
    <nav class="rail" aria-label="Pages">
      {SECTIONS.map(({ title, entries }) => (
        <div key={title} class="rail-section">
          <p class="rail-title">{title}</p>
          {entries.map((entry) => (
            <RailLink key={entry.to} entry={entry} counts={counts} />
          ))}
        </div>
      ))}
    </nav>
  );
}

function RailLink({ entry, counts }: { readonly entry: Entry; readonly counts: Counts | null }) {
  const badge = counts === null ? undefined : entry.badge?.(counts);
  return (
    <a class="rail-link" href={href(entry.to)} aria-current={isHere(entry.to) ? "page" : undefined}>
      <Icon name={entry.icon} />
      <span class="rail-label">{entry.label}</span>
      {badge !== undefined && badge.n > 0 && (
        <span class={`badge ${badge.tone}`}>{badge.n >= 100 ? "99+" : badge.n}</span>
      )}
    </a>
  );
}

function isHere(to: string): boolean {
  const { path } = address.value;
  return to === "/" ? path === "/" : path === to || path.startsWith(`${to}/`);
}

const BOTTOM = ["/", "/runs", "/approvals", "/nodes"];

export function BottomBar({ counts }: { readonly counts: Counts | null }) {
  const entries = SECTIONS.flatMap((section) => section.entries);
  const menu = useRef<HTMLDivElement>(null);
  const { path } = address.value;
  useEffect(() => {
    if (menu.current?.matches(":popover-open")) menu.current.hidePopover();
  }, [path]);
  return (
    <>
      <nav class="bottom-bar" aria-label="Main pages">
        {BOTTOM.map((to) => {
          const entry = entries.find((one) => one.to === to) as Entry;
          return <RailLink key={to} entry={entry} counts={counts} />;
        })}
        <button type="button" class="rail-link" popovertarget="more-pages">
          <Icon name="more" />
          <span class="rail-label">More</span>
        </button>
      </nav>
      <div id="more-pages" class="more-pages" popover="auto" ref={menu}>
        {entries
          .filter(({ to }) => !BOTTOM.includes(to))
          .map((entry) => (
            <RailLink key={entry.to} entry={entry} counts={counts} />
          ))}
      </div>
    </>
  );
}
