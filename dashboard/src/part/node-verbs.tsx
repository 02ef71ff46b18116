// The verbs of a node: mode, drain, and on a development server freeze and kill.

import { call, request } from "../live/api.js";
import type { NodeRow } from "../live/model.js";
import { Verb } from "./verb.js";

const MODES = ["full", "trigger_only", "disabled"] as const;

interface NodeVerbProps {
  readonly node: NodeRow;
  readonly then: () => void;
}

export function ModeVerb({ node, then }: NodeVerbProps) {
  return (
    <Verb
      question={{
        title: `Mode of ${node.name}`,
        effect:
          "full starts and executes runs; trigger_only starts them and leaves the work to others; disabled does neither. Running work continues.",
        confirm: "Set the mode",
        fields: [
          { name: "mode", label: "Mode", kind: "choice", choices: MODES, value: node.mode },
          { name: "keep", label: "Also for later starts of this node", kind: "check" },
        ],
      }}
      act={async ({ mode, keep, note }) => {
        const chosen = MODES.find((one) => one === mode) ?? "full";
        const now = await call("nodes.mode", {
          node: node.incarnation,
          mode: chosen,
          keep: keep === "on",
          ...(note && { note }),
        });
        return `${node.name} is ${now.mode} within a second.`;
      }}
      then={then}
    >
      Mode…
    </Verb>
  );
}

const NO_OVERRIDE = "no override";

export function OverrideVerb({ node, then }: NodeVerbProps) {
  const programs = [...new Set(node.serves.map(({ program }) => program))];
  if (programs.length === 0) return null;
  return (
    <Verb
      question={{
        title: `Mode of ${node.name} for one program`,
        effect: "Overrides the node's mode for this program only.",
        confirm: "Set it",
        fields: [
          { name: "program", label: "Program", kind: "choice", choices: programs },
          { name: "mode", label: "Mode", kind: "choice", choices: [...MODES, NO_OVERRIDE] },
          { name: "keep", label: "Also for later starts of this node", kind: "check" },
        ],
      }}
      act={async ({ program = "", mode, keep, note }) => {
        const chosen = MODES.find((one) => one === mode) ?? null;
        const change = { node: node.incarnation, program, mode: chosen, keep: keep === "on" };
        await call("nodes.override", { ...change, ...(note && { note }) });
        return chosen === null
          ? `${program} follows the mode of ${node.name}.`
          : `${program} is ${chosen} on ${node.name}.`;
      }}
      then={then}
    >
      Override…
    </Verb>
  );
}

export function DrainVerb({ node, then }: NodeVerbProps) {
  return (
    <Verb
      question={{
        title: `Drain ${node.name}?`,
        effect:
          "It finishes the steps that run now, releases its claims and claims nothing more. Other nodes continue its runs at once.",
        confirm: "Drain",
        fields: [{ name: "exit", label: "Then stop the process", kind: "check" }],
      }}
      act={async ({ exit, note }) => {
        await call("nodes.drain", { node: node.incarnation, exit: exit === "on", ...(note && { note }) });
        return `${node.name} drains.`;
      }}
      then={then}
    >
      Drain…
    </Verb>
  );
}

/** Stops a process in order, or finds it dead, and starts another one under its name. */
export function RestartVerb({ node, then }: NodeVerbProps) {
  return (
    <Verb
      question={null}
      act={async () => {
        await request("POST", "/dev/nodes/:node/restart", { node: node.incarnation });
        return `${node.name} starts again.`;
      }}
      then={then}
    >
      Restart
    </Verb>
  );
}

/** Routes that exist only where the server supervises the nodes itself. */
export function DevVerbs({ node, then }: NodeVerbProps) {
  return (
    <>
      <Verb
        question={null}
        act={async () => {
          const { seconds } = (await request("POST", "/dev/nodes/:node/freeze", { node: node.incarnation })) as {
            readonly seconds: number;
          };
          return `${node.name} is frozen for ${seconds} s. When it wakes, its late writes are refused.`;
        }}
        then={then}
      >
        Freeze
      </Verb>
      <Verb
        danger
        question={null}
        act={async () => {
          await request("POST", "/dev/nodes/:node/kill", { node: node.incarnation });
          return `${node.name} was killed. Watch its runs continue on another node.`;
        }}
        then={then}
      >
        kill -9
      </Verb>
    </>
  );
}
