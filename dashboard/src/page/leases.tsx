// Leases: named ones with owner, epoch, attempt, time left, and how they ended.

import { ownerStripe } from "../draw/owner-stripe.js";
import type { LeaseRow } from "../live/model.js";
import { useRoute } from "../live/use-route.js";
import { Empty, Panel, Show } from "../part/panel.js";
import { type Column, Rows } from "../part/rows.js";
import { PageHead } from "../part/tabs.js";
import { Age, Until } from "../part/time.js";

const TONES: Readonly<Record<string, string>> = {
  claimed: "is-note",
  done: "is-good",
  failed: "is-bad",
  expired: "is-warn",
};

const COLUMNS: readonly Column<LeaseRow>[] = [
  { title: "Lease", cell: ({ key }) => <strong class="mono">{key}</strong> },
  { title: "State", cell: ({ state }) => <span class={`badge ${TONES[state]}`}>{state}</span> },
  {
    title: "Owner",
    cell: ({ owner }) => (
      <span class="owner">
        <span class={`stripe own-${ownerStripe(owner)}`} />
        {owner}
      </span>
    ),
  },
  {
    title: "Left",
    cell: ({ state, leaseUntil }) =>
      state === "claimed" || state === "expired" ? <Until at={leaseUntil} late="over" /> : "–",
  },
  { title: "Epoch", class: "right num", cell: ({ epoch }) => epoch },
  { title: "Attempt", class: "right num", cell: ({ attempt }) => attempt },
  { title: "Acquired", cell: ({ acquiredAt }) => <Age at={acquiredAt} suffix=" ago" /> },
  { title: "Ended", cell: ({ finishedAt }) => (finishedAt === null ? "–" : <Age at={finishedAt} suffix=" ago" />) },
  { title: "Detail", cell: ({ detail }) => detail ?? "" },
];

export default function LeasesPage() {
  const leases = useRoute("leases.list", { limit: 200 }, { everyMs: 5_000 });
  return (
    <>
      <PageHead title="Leases" />
      <Panel label="Leases">
        <Show
          of={leases}
          empty={{
            when: ({ rows }) => rows.length === 0,
            show: (
              <Empty title="No program has taken a named lease.">
                <p class="muted">A lease is a right of your own, such as the leader of a job: see holdfast/lease.</p>
              </Empty>
            ),
          }}
        >
          {({ rows }) => <Rows rows={rows} columns={COLUMNS} id={({ key }) => key} />}
        </Show>
      </Panel>
    </>
  );
}
