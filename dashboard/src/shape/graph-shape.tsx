// A graph: declared nodes and edges with visits counted, a slider through the visits, and what each changed; fork or rewind from there.

import { type GraphShape, visitedShape } from "../draw/shape.js";
import { plural } from "../draw/words.js";
import { call } from "../live/api.js";
import { useKeys } from "../live/keys.js";
import type { OutputOf, RunDetail, Visit } from "../live/model.js";
import { address, go, setQuery } from "../live/router.js";
import { JsonTree } from "../part/json-tree.js";
import { Empty, Loading, Panel } from "../part/panel.js";
import { Instant } from "../part/time.js";
import { saidBy, Verb } from "../part/verb.js";
import { Canvas } from "./canvas.js";
import { useLayout } from "./layout.js";

const nodeOf = (position: string) => position.split(":")[0] as string;

interface GraphDrawingProps {
  readonly shape: GraphShape;
  readonly visits: readonly Visit[];
  readonly active: string | null;
  readonly chosen: string | null;
}

export function GraphDrawing({ shape, visits, active, chosen }: GraphDrawingProps) {
  const counts = new Map<string, number>();
  for (const { position } of visits) counts.set(nodeOf(position), (counts.get(nodeOf(position)) ?? 0) + 1);
  const taken = new Map<string, number>();
  for (const { position, next } of visits) {
    if (next === null) continue;
    const edge = `${nodeOf(position)} ${nodeOf(next)}`;
    taken.set(edge, (taken.get(edge) ?? 0) + 1);
  }
  const failed = new Set(shape.edges.filter((edge) => edge.failed).map(({ from, to }) => `${from} ${to}`));
  const timesOf = ({ from, to }: { readonly from: string; readonly to: string }) => taken.get(`${from} ${to}`) ?? 0;
  const graph = {
    boxes: shape.nodes.map(({ name }) => ({ id: name, width: Math.max(150, name.length * 7.6 + 56), height: 44 })),
    arrows: shape.edges.map(({ from, to }) => ({ from, to, label: "×9" })),
    direction: "LR" as const,
  };
  const laid = useLayout(graph, shape.start);
  if (laid === null) return <Loading />;
  return (
    <Canvas
      width={laid.width}
      height={laid.height}
      label={`Graph with ${shape.nodes.length} nodes`}
      arrows={laid.arrows}
      arrowClass={(arrow) =>
        `${timesOf(arrow) > 0 ? "is-taken" : ""} ${failed.has(`${arrow.from} ${arrow.to}`) ? "is-failure" : ""}`
      }
      arrowText={(arrow) => (timesOf(arrow) > 0 ? `×${timesOf(arrow)}` : null)}
    >
      {laid.boxes.map(({ id, x, y, width, height }) => {
        // A run that is at its end does nothing more there.
        const isAt = id === active && id !== "end";
        const state = isAt ? "running" : counts.has(id) || id === active ? "completed" : "blocked";
        return (
          <g
            key={id}
            class={`box state-box is-${state} ${chosen !== null && nodeOf(chosen) === id ? "is-chosen" : ""}`}
            transform={`translate(${x} ${y})`}
          >
            <rect width={width} height={height} rx={22} />
            <text x={18} y={19} class="box-name">
              {id}
            </text>
            <text x={18} y={35} class="box-note">
              {shape.nodes.find(({ name }) => name === id)?.kind}
              {counts.has(id) ? ` · ${plural(counts.get(id) ?? 0, "visit")}` : ""}
            </text>
          </g>
        );
      })}
    </Canvas>
  );
}

export function GraphRun({
  run,
  shape,
  data,
}: {
  readonly run: RunDetail;
  readonly shape: GraphShape | null;
  readonly data: OutputOf<"runs.visits">;
}) {
  const { visits, position } = data;
  const at = address.value.query["at"];
  const index = Math.max(0, at === undefined ? visits.length - 1 : visits.findIndex((visit) => visit.position === at));
  const visit = visits[index] ?? null;
  const move = (step: number) => {
    const to = visits[index + step];
    if (to) setQuery({ at: to.position });
  };
  useKeys({ ArrowLeft: () => move(-1), ArrowRight: () => move(1) });
  if (visits.length === 0 && shape === null) return <Empty title="No node was visited yet." />;
  return (
    <>
      <Panel
        title="Graph"
        actions={shape === null && <span class="muted">drawn from its visits: the declared shape is not stored</span>}
      >
        <GraphDrawing
          shape={shape ?? visitedShape(visits)}
          visits={visits.slice(0, index + 1)}
          active={position === null ? null : nodeOf(position)}
          chosen={visit?.position ?? null}
        />
        {visits.length > 0 && (
          <div class="visits">
            <label class="field">
              <span>
                Visit {index + 1} of {visits.length}
              </span>
              <input
                type="range"
                min={0}
                max={visits.length - 1}
                value={index}
                onInput={(event) => setQuery({ at: visits[Number(event.currentTarget.value)]?.position ?? null })}
              />
            </label>
            <ol class="tags">
              {visits.map((one, i) => (
                <li key={one.position}>
                  <button
                    type="button"
                    class="button"
                    aria-pressed={i === index}
                    onClick={() => setQuery({ at: one.position })}
                  >
                    {one.position}
                  </button>
                </li>
              ))}
            </ol>
          </div>
        )}
      </Panel>
      {visit !== null && <VisitPanel run={run} visit={visit} />}
    </>
  );
}

const REWOUND: readonly string[] = ["completed", "failed", "cancelled", "dead", "paused", "quarantined"];

function VisitPanel({ run, visit }: { readonly run: RunDetail; readonly visit: Visit }) {
  const { position, updates, failure } = visit;
  return (
    <Panel
      title={`Visit ${position}`}
      actions={
        <>
          <Verb
            question={{
              title: `Fork from ${position}?`,
              effect: "Starts a new run that continues from this visit with its state. This run stays as it is.",
              confirm: "Fork",
              fields: [{ name: "state", label: "Changed fields of the state (JSON)", kind: "json" }],
            }}
            act={async ({ state = "", note }) => {
              const forked = await call("runs.fork", {
                id: run.id,
                from: position,
                ...(state.trim() && { state: JSON.parse(state) }),
                ...(note && { note }),
              });
              go(`/runs/${forked.id}?tab=shape`);
              return "Forked.";
            }}
          >
            Fork from here…
          </Verb>
          <Verb
            disabled={!REWOUND.includes(run.state) && "Only a run that has ended or is paused can be rewound"}
            question={{
              title: `Rewind to ${position}?`,
              effect: "The run resumes at this visit. What it did after it stays in its journal.",
              confirm: "Rewind",
              fields: [{ name: "why", label: "Why", kind: "text", required: true }],
            }}
            act={async ({ why = "", note }) =>
              saidBy(await call("runs.rewind", { id: run.id, to: position, why, ...(note && { note }) }))
            }
          >
            Rewind to here…
          </Verb>
        </>
      }
    >
      <dl class="facts panel-body">
        <dt>From, to</dt>
        <dd>
          <Instant at={visit.from} fraction /> to {visit.to === null ? "now" : <Instant at={visit.to} fraction />}
        </dd>
        <dt>Then</dt>
        <dd>{visit.next ?? "–"}</dd>
        <dt>Changed</dt>
        <dd>{Object.keys(updates).length === 0 ? "nothing" : <JsonTree value={updates} />}</dd>
        {failure !== null && (
          <>
            <dt>Failed</dt>
            <dd class="is-failed">
              {failure.code ?? failure.name}: {failure.message}
            </dd>
          </>
        )}
      </dl>
    </Panel>
  );
}
