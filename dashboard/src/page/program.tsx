// One program: kind, versions, who serves it, its shape, and a form that starts a run.

import { fieldsOf, inputOf } from "../draw/input-form.js";
import { call } from "../live/api.js";
import type { ProgramRow } from "../live/model.js";
import { go, href } from "../live/router.js";
import { useRoute } from "../live/use-route.js";
import type { PageProps } from "../pages.js";
import { JsonTree } from "../part/json-tree.js";
import { lazyPart } from "../part/lazy.js";
import { Panel, Show } from "../part/panel.js";
import { PageHead } from "../part/tabs.js";
import { Verb } from "../part/verb.js";

const ProgramShape = lazyPart(() => import("../shape/program-shape.js"));

export default function ProgramPage({ params }: PageProps) {
  const program = useRoute("programs.get", { program: params["program"] as string });
  return <Show of={program}>{(data) => <Whole program={data as ProgramRow} />}</Show>;
}

function Whole({ program }: { readonly program: ProgramRow }) {
  const runs = `/runs?program=${encodeURIComponent(program.name)}`;
  return (
    <>
      <PageHead
        title={
          <>
            {program.name} {program.kind && <span class="badge">{program.kind}</span>}
          </>
        }
        back={{ to: "/programs", label: "Programs" }}
      >
        <a class="button" href={href(runs)}>
          Runs
        </a>
        <StartVerb program={program} />
      </PageHead>
      <div class="columns">
        <Panel title="Served by">
          <dl class="facts panel-body">
            <dt>Nodes that have it</dt>
            <dd>{program.servedBy.join(", ") || <span class="badge is-bad">no node</span>}</dd>
            <dt>Nodes that claim it now</dt>
            <dd>{program.claimedBy.join(", ") || "–"}</dd>
            <dt>Builds</dt>
            <dd>{program.builds.join(", ") || "–"}</dd>
            <dt>Versions</dt>
            <dd>{program.versions.map((version) => version ?? "unversioned").join(", ")}</dd>
            <dt>Queues</dt>
            <dd>
              {program.queues.map((queue) => (
                <a key={queue} href={href(`/queues/${encodeURIComponent(queue)}`)}>
                  {queue}{" "}
                </a>
              ))}
            </dd>
          </dl>
        </Panel>
        <Panel title="Started and limited by">
          <dl class="facts panel-body">
            <dt>Triggers</dt>
            <dd>{program.triggers}</dd>
            <dt>Schedules</dt>
            <dd>{program.schedules}</dd>
            <dt>Limits</dt>
            <dd>
              {program.limits === null || program.limits === undefined ? "none" : <JsonTree value={program.limits} />}
            </dd>
          </dl>
        </Panel>
      </div>
      {program.shape && <ProgramShape shape={program.shape} />}
    </>
  );
}

function StartVerb({ program }: { readonly program: ProgramRow }) {
  const { name, inputSchema, example } = program;
  const fields = fieldsOf(inputSchema);
  return (
    <Verb
      primary
      question={{
        title: `Start a run of ${name}`,
        effect:
          program.claimedBy.length === 0
            ? "No live node claims this program: the run will wait."
            : "It waits for a slot and runs on the first free node.",
        confirm: "Start",
        fields: [
          ...(fields ?? [
            {
              name: "input",
              label: "Input (JSON)",
              kind: "json" as const,
              value: example === undefined ? "" : JSON.stringify(example, null, 2),
            },
          ]),
          { name: "key", label: "Key", kind: "text", help: "A second start with the same key finds this run" },
        ],
      }}
      act={async (values) => {
        const { key = "", note, input: text = "" } = values;
        const input =
          fields !== null && inputSchema
            ? inputOf(inputSchema, values)
            : text.trim() === ""
              ? undefined
              : JSON.parse(text);
        const { id, outcome } = await call("runs.start", {
          program: name,
          ...(input !== undefined && { input }),
          ...(key && { key }),
          ...(note && { note }),
        });
        go(`/runs/${id}`);
        return outcome === "existing" ? "A run with this key existed already." : "Started.";
      }}
    >
      Start a run…
    </Verb>
  );
}
