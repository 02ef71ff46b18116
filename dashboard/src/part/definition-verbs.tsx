// The verbs of definitions: edited as JSON over the version that was read, with what changes shown before it is saved.

import { changeText, jsonChanges } from "../draw/json-changes.js";
import { call } from "../live/api.js";
import type { DefinitionRow } from "../live/model.js";
import { ask } from "./ask.js";
import { saidBy, Verb } from "./verb.js";

interface DefinitionVerbProps {
  readonly row: DefinitionRow;
  readonly then: () => void;
}

export function DefinitionVerbs({ row, then }: DefinitionVerbProps) {
  return (
    <span class="verbs">
      <EditVerb row={row} then={then} />
      <EnableVerb row={row} then={then} />
      <RemoveVerb row={row} then={then} />
    </span>
  );
}

function EditVerb({ row, then }: DefinitionVerbProps) {
  const { kind, name, version, body } = row;
  return (
    <Verb
      needs="administer"
      question={{
        title: `Edit ${name}`,
        effect: `Version ${version}. What changes is shown before it is saved. Runs that have begun keep their version.`,
        confirm: "Compare…",
        note: false,
        fields: [
          { name: "body", label: "Body (JSON)", kind: "json", value: JSON.stringify(body, null, 2), required: true },
        ],
      }}
      act={async ({ body: text = "{}" }) => {
        const edited = JSON.parse(text) as DefinitionRow["body"];
        const changes = jsonChanges(body, edited).map(changeText);
        if (changes.length === 0) return "Nothing was changed.";
        const values = await ask({
          title: `Save ${name}, version ${version + 1}?`,
          effect: "Nodes load it within seconds.",
          lines: changes,
          confirm: "Save",
        });
        if (values === null) return "Nothing was saved.";
        const note = values["note"];
        const saved = await call("definitions.save", {
          kind,
          name,
          body: edited,
          over: version,
          ...(note && { note }),
        });
        return `Saved as version ${saved.version}.`;
      }}
      then={then}
    >
      Edit…
    </Verb>
  );
}

function EnableVerb({ row: { kind, name, enabled }, then }: DefinitionVerbProps) {
  return (
    <Verb
      needs="administer"
      question={
        enabled
          ? { title: `Disable ${name}?`, effect: "Nodes no longer start it. Its runs continue.", confirm: "Disable" }
          : { title: `Enable ${name}?`, effect: "Nodes load it within seconds.", confirm: "Enable" }
      }
      act={async ({ note }) =>
        saidBy(await call("definitions.enable", { kind, name, enabled: !enabled, ...(note && { note }) }))
      }
      then={then}
    >
      {enabled ? "Disable" : "Enable"}
    </Verb>
  );
}

function RemoveVerb({ row: { kind, name }, then }: DefinitionVerbProps) {
  return (
    <Verb
      danger
      needs="administer"
      question={{
        title: `Remove ${name}?`,
        effect: "Nothing starts it any more. It is refused while runs need it.",
        confirm: "Remove",
        danger: true,
        type: name,
      }}
      act={async ({ note }) => saidBy(await call("definitions.remove", { kind, name, ...(note && { note }) }))}
      then={then}
    >
      Remove
    </Verb>
  );
}

const EXAMPLE = { tasks: {} };

export function NewDefinitionVerb({ then }: { readonly then: () => void }) {
  return (
    <Verb
      needs="administer"
      question={{
        title: "Save a new definition",
        effect: "Nodes with the option `definitions` load it within seconds. A name that exists is not overwritten.",
        confirm: "Save",
        fields: [
          { name: "kind", label: "Kind", kind: "choice", choices: ["dag", "actor"], value: "dag" },
          { name: "name", label: "Name", kind: "text", required: true },
          { name: "body", label: "Body (JSON)", kind: "json", value: JSON.stringify(EXAMPLE, null, 2), required: true },
        ],
      }}
      act={async ({ kind, name = "", body = "{}", note }) => {
        const of = kind === "actor" ? "actor" : "dag";
        const saved = await call("definitions.save", {
          kind: of,
          name,
          body: JSON.parse(body) as DefinitionRow["body"],
          over: 0,
          ...(note && { note }),
        });
        return `Saved as version ${saved.version}.`;
      }}
      then={then}
    >
      New definition…
    </Verb>
  );
}
