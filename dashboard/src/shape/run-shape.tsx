// The shape of a run: a DAG with its tasks, or a graph with its visits.

import type { DagShape } from "../draw/shape.js";
import { may } from "../live/api.js";
import type { ProgramRow, RunDetail, TaskRow } from "../live/model.js";
import { useRoute } from "../live/use-route.js";
import { Empty, Loading, Panel, Show } from "../part/panel.js";
import { Dag, Gantt } from "./dag-shape.js";
import { GraphRun } from "./graph-shape.js";

export default function RunShape({ run }: { readonly run: RunDetail }) {
  const program = useRoute("programs.get", { program: run.program });
  const tasks = useRoute("runs.tasks", { id: run.id, limit: 200 }, { everyMs: 2_000 });
  const visits = useRoute("runs.visits", may("read") ? { id: run.id } : null, { everyMs: 5_000 });
  if (program.data === null && program.error === null) return <Loading />;
  const shape = (program.data as ProgramRow | null)?.shape ?? null;
  if (shape?.kind === "graph" || (visits.data !== null && visits.data.visits.length > 0)) {
    if (!may("read")) return <Empty title="The visits of a graph need the permission read." />;
    return (
      <Show of={visits}>
        {(data) => <GraphRun run={run} shape={shape?.kind === "graph" ? shape : null} data={data} />}
      </Show>
    );
  }
  return <Show of={tasks}>{(data) => <DagRun shape={shape?.kind === "dag" ? shape : null} tasks={data.tasks} />}</Show>;
}

/** Over this many boxes the list is shown first. */
const MOST_BOXES = 150;

function DagRun({ shape, tasks }: { readonly shape: DagShape | null; readonly tasks: readonly TaskRow[] }) {
  const names = [...new Set(tasks.map(({ name }) => name))];
  const drawn: DagShape = shape ?? { kind: "dag", tasks: names.map((name) => ({ name, needs: [] })) };
  if (drawn.tasks.length === 0) return <Empty title="It has started no task yet." />;
  return (
    <>
      {shape !== null && shape.tasks.length <= MOST_BOXES && (
        <Panel title="Tasks as declared">
          <Dag shape={shape} tasks={tasks} />
        </Panel>
      )}
      <Panel title="Tasks over time">
        <Gantt shape={drawn} tasks={tasks} />
      </Panel>
    </>
  );
}
