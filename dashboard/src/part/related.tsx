// The relatives of a run: its parent, and the tasks and children that it started.

import { doing } from "../draw/doing.js";
import { shortId } from "../live/address.js";
import { now } from "../live/clock.js";
import type { RunDetail, RunRow } from "../live/model.js";
import { href } from "../live/router.js";
import { useRoute } from "../live/use-route.js";
import { Empty, Panel, Show } from "./panel.js";
import { State } from "./state.js";
import { Age } from "./time.js";

export function Related({ run }: { readonly run: RunDetail }) {
  const tasks = useRoute("runs.tasks", { id: run.id, limit: 200 }, { everyMs: 5_000 });
  const parent = useRoute("runs.many", run.parentId === null ? null : { ids: [run.parentId] });
  const [above] = parent.data?.rows ?? [];
  return (
    <Panel label="Related runs">
      <Show
        of={tasks}
        empty={{
          when: (data) => data.tasks.length === 0 && above === undefined,
          show: <Empty title="No parent, no tasks, no children." />,
        }}
      >
        {(data) => (
          <div class="table-box">
            <table class="cards">
              <thead>
                <tr>
                  <th>Relation</th>
                  <th>State</th>
                  <th>Run</th>
                  <th>Created</th>
                  <th>Now</th>
                </tr>
              </thead>
              <tbody>
                {above && <RelativeRow relation="parent" run={above} />}
                {data.tasks.map(({ seq, name, run: task }) =>
                  task === null ? (
                    <tr key={seq}>
                      <td>{name}</td>
                      <td colSpan={4} class="muted">
                        not started
                      </td>
                    </tr>
                  ) : (
                    <RelativeRow key={seq} relation={name} run={task} />
                  ),
                )}
              </tbody>
            </table>
          </div>
        )}
      </Show>
    </Panel>
  );
}

function RelativeRow({ relation, run }: { readonly relation: string; readonly run: RunRow }) {
  return (
    <tr>
      <td data-label="Relation">{relation}</td>
      <td data-label="State">
        <State state={run.state} warn={run.noCapableNode} />
      </td>
      <td data-label="Run">
        <a href={href(`/runs/${run.id}`)}>
          {run.program} <span class="mono">{shortId(run.id)}</span>
        </a>
      </td>
      <td data-label="Created">
        <Age at={run.createdAt} suffix=" ago" />
      </td>
      <td data-label="Now">{doing(run, now())}</td>
    </tr>
  );
}
