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
              {Array.isArray(program.limits) && program.limits.length > 0 ? (
                <JsonTree value={program.limits} />
              ) : (
                "none"
              )}
            </dd>
          </dl>
        </Panel>
      </div>
      {program.shape && <ProgramShape shape={program.shape} />}
    </>
  );
}

/** It is not shown: payloads are read on demand, and each look is in the audit. */
const SAME_INPUT = { name: "same", label: "With the input of the newest run instead", kind: "check" } as const;

function StartVerb({ program }: { readonly program: ProgramRow }) {
  const { name, inputSchema } = program;
  const fields = fieldsOf(inputSchema);
  const [newest] = useRoute("runs.list", { program: name, limit: 1 }).data?.rows ?? [];
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
            },
          ]),
          ...(newest ? [SAME_INPUT] : []),
          { name: "key", label: "Key", kind: "text", help: "A second start with the same key finds this run" },
        ],
      }}
      act={async (values) => {
        const { key = "", note, input: text = "" } = values;
        const written = () =>
          fields !== null && inputSchema
            ? inputOf(inputSchema, values)
            : text.trim() === ""
              ? undefined
              : JSON.parse(text);
        const sameAs = newest && values["same"] === "on" ? newest.id : null;
        const input = sameAs === null ? written() : undefined;
        const { id, outcome } = await call("runs.start", {
          program: name,
          ...(sameAs !== null && { inputOf: sameAs }),
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
