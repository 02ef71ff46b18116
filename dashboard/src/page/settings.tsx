// Settings: tokens with their permissions, this browser's choices, and who is looking.

import { useState } from "preact/hooks";
import { call, may, session } from "../live/api.js";
import { keysOn, setKeys } from "../live/keys.js";
import type { Permission, TokenRow } from "../live/model.js";
import { applyTheme, type Theme, theme } from "../live/theme.js";
import { useRoute } from "../live/use-route.js";
import { Empty, Panel, Show } from "../part/panel.js";
import { type Column, Rows } from "../part/rows.js";
import { PageHead } from "../part/tabs.js";
import { Age } from "../part/time.js";
import { saidBy, Verb } from "../part/verb.js";

export const ALLOWS: readonly (readonly [Permission, string])[] = [
  ["see", "metadata, figures, shapes, live updates"],
  ["read", "payloads, inputs, errors with stacks"],
  ["approve", "decide approvals addressed to its groups"],
  ["operate", "start, signal, cancel, retry, fork, pause, drain, mode, fire"],
  ["administer", "definitions, tokens, retention"],
];

export default function SettingsPage() {
  return (
    <>
      <PageHead title="Settings" />
      <div class="columns">
        <You />
        <ThisBrowser />
      </div>
      {may("administer") ? (
        <Tokens />
      ) : (
        <Panel title="Tokens">
          <Empty title="Tokens need the permission administer." />
        </Panel>
      )}
    </>
  );
}

function You() {
  const who = session.value;
  return (
    <Panel title="You">
      <dl class="facts panel-body">
        <dt>Name</dt>
        <dd>{who?.name ?? "–"}</dd>
        {ALLOWS.map(([permission, allows]) => (
          <>
            <dt>{permission}</dt>
            <dd>
              <span class={`badge ${may(permission) ? "is-good" : ""}`}>{may(permission) ? "yes" : "no"}</span>{" "}
              <span class="muted">{allows}</span>
            </dd>
          </>
        ))}
        <dt>Version</dt>
        <dd>{who?.version ?? "–"}</dd>
      </dl>
    </Panel>
  );
}

function ThisBrowser() {
  return (
    <Panel title="This browser">
      <div class="panel-body bar-list">
        <label class="field">
          <span>Theme</span>
          <select value={theme.value} onChange={(event) => applyTheme(event.currentTarget.value as Theme)}>
            <option>system</option>
            <option>light</option>
            <option>dark</option>
          </select>
        </label>
        <label class="check">
          <input type="checkbox" checked={keysOn.value} onChange={(event) => setKeys(event.currentTarget.checked)} />
          <span>Single-key shortcuts</span>
        </label>
      </div>
    </Panel>
  );
}

function Tokens() {
  const tokens = useRoute("tokens.list", {});
  const [secret, setSecret] = useState<string | null>(null);
  const columns: readonly Column<TokenRow>[] = [
    { title: "Token", cell: ({ name }) => <strong>{name}</strong> },
    { title: "May", cell: (row) => row.may.join(", ") },
    { title: "Envs", cell: ({ envs }) => envs?.join(", ") ?? "all" },
    {
      title: "Created",
      cell: ({ createdAt, createdBy }) => (
        <>
          <Age at={createdAt} suffix=" ago" /> by {createdBy}
        </>
      ),
    },
    {
      title: "Last used",
      cell: ({ lastUsedAt }) => (lastUsedAt === null ? "never" : <Age at={lastUsedAt} suffix=" ago" />),
    },
    { title: "", class: "fit", cell: (row) => <RevokeVerb row={row} then={tokens.reload} /> },
  ];
  return (
    <Panel title="Tokens" actions={<CreateVerb shown={setSecret} then={tokens.reload} />}>
      {secret !== null && (
        <div class="notice is-warn" role="status">
          Copy it now, it is not shown again: <code class="secret">{secret}</code>
        </div>
      )}
      <Show of={tokens} empty={{ when: ({ rows }) => rows.length === 0, show: <Empty title="No token yet." /> }}>
        {({ rows }) => <Rows rows={rows} columns={columns} id={({ id }) => id} />}
      </Show>
    </Panel>
  );
}

function CreateVerb({ shown, then }: { readonly shown: (secret: string) => void; readonly then: () => void }) {
  return (
    <Verb
      needs="administer"
      question={{
        title: "Create a token",
        effect: "Its secret is shown once. Give it the least that it needs.",
        confirm: "Create",
        fields: [
          { name: "name", label: "Name", kind: "text", required: true },
          ...ALLOWS.map(([permission, allows]) => ({
            name: `may.${permission}`,
            label: `${permission}: ${allows}`,
            kind: "check" as const,
            ...(permission === "see" && { value: "on" }),
          })),
        ],
      }}
      act={async (values) => {
        const chosen = ALLOWS.map(([permission]) => permission).filter(
          (permission) => values[`may.${permission}`] === "on",
        );
        const created = await call("tokens.create", {
          name: values["name"] ?? "",
          may: chosen,
          ...(values["note"] && { note: values["note"] }),
        });
        shown(created.secret);
        return `Token ${created.name} is created.`;
      }}
      then={then}
    >
      Create a token…
    </Verb>
  );
}

function RevokeVerb({ row, then }: { readonly row: TokenRow; readonly then: () => void }) {
  if (row.revokedAt !== null)
    return (
      <span class="muted">
        revoked <Age at={row.revokedAt} suffix=" ago" />
      </span>
    );
  return (
    <Verb
      needs="administer"
      danger
      question={{
        title: `Revoke ${row.name}?`,
        effect: "Requests with it are refused at once.",
        confirm: "Revoke",
        danger: true,
      }}
      act={async ({ note }) => saidBy(await call("tokens.revoke", { id: row.id, ...(note && { note }) }))}
      then={then}
    >
      Revoke
    </Verb>
  );
}
