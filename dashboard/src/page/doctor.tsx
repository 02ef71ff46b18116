// Doctor: every finding about the store and the nodes, with what to do.

import type { Finding } from "../live/model.js";
import { useRoute } from "../live/use-route.js";
import { Panel, Show } from "../part/panel.js";
import { type Column, Rows } from "../part/rows.js";
import { PageHead } from "../part/tabs.js";

const LEVELS: Readonly<Record<Finding["level"], readonly [number, string]>> = {
  problem: [0, "is-bad"],
  warning: [1, "is-warn"],
  ok: [2, "is-good"],
};

const COLUMNS: readonly Column<Finding>[] = [
  { title: "Level", class: "fit", cell: ({ level }) => <span class={`badge ${LEVELS[level][1]}`}>{level}</span> },
  { title: "Check", class: "fit", cell: ({ check }) => <strong>{check}</strong> },
  { title: "Finding", cell: ({ text }) => text },
  { title: "What to do", cell: ({ remedy }) => remedy ?? "" },
];

export default function DoctorPage() {
  const doctor = useRoute("doctor.get", {});
  return (
    <>
      <PageHead title="Doctor">
        <button type="button" class="button" onClick={doctor.reload} disabled={doctor.loading}>
          {doctor.loading ? "Looking…" : "Look again"}
        </button>
      </PageHead>
      <Panel label="Findings">
        <Show of={doctor}>
          {({ findings }) => (
            <Rows
              rows={[...findings].sort((a, b) => LEVELS[a.level][0] - LEVELS[b.level][0])}
              columns={COLUMNS}
              id={({ check, text }) => check + text}
            />
          )}
        </Show>
      </Panel>
    </>
  );
}
