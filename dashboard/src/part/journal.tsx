// The journal as a table. Payloads are read one by one when asked for; each look is audited.

import { useState } from "preact/hooks";
import { bytes, plural } from "../draw/words.js";
import { ApiRefusal, call, may } from "../live/api.js";
import type { Claim, Entry, OutputOf } from "../live/model.js";
import type { JournalView } from "../live/use-journal.js";
import { JsonTree } from "./json-tree.js";
import { Owner } from "./owner.js";
import { Instant } from "./time.js";

const BAD = ["failed", "dead", "quarantined", "step.failed", "node.failed", "misfit"];

export function Journal({
  id,
  journal,
  claims,
}: {
  readonly id: string;
  readonly journal: JournalView;
  readonly claims: readonly Claim[];
}) {
  const holders = new Map(claims.map(({ epoch, holder }) => [epoch, holder]));
  const { entries, missing } = journal;
  const holeAt =
    missing === 0 ? -1 : entries.findIndex(({ seq }, i) => i > 0 && seq > (entries[i - 1] as Entry).seq + 1);
  return (
    <div class="table-box">
      <table class="cards">
        <thead>
          <tr>
            <th class="right">Seq</th>
            <th>Time (UTC)</th>
            <th>Kind</th>
            <th>Name</th>
            <th>Key</th>
            <th>Claim</th>
            <th>Payload</th>
          </tr>
        </thead>
        <tbody>
          {entries.map((entry, i) => (
            <>
              {i === holeAt && (
                <tr key="hole">
                  <td colSpan={7}>
                    <button type="button" class="button" onClick={journal.readMiddle}>
                      Read the next of {plural(missing, "entry", "entries")} in between
                    </button>
                  </td>
                </tr>
              )}
              <tr key={entry.seq}>
                <td class="right num muted" data-label="Seq">
                  {entry.seq}
                </td>
                <td data-label="Time">
                  <Instant at={entry.at} fraction />
                </td>
                <td data-label="Kind" class={BAD.includes(entry.kind) ? "is-failed" : ""}>
                  {entry.kind}
                </td>
                <td data-label="Name">{entry.name}</td>
                <td data-label="Key" class="mono muted">
                  {entry.key}
                </td>
                <td data-label="Claim" class="fit">
                  {entry.epoch > 0 && (
                    <>
                      <span class="num">{entry.epoch}</span> <Owner holder={holders.get(entry.epoch) ?? null} plain />
                    </>
                  )}
                </td>
                <td data-label="Payload">{entry.bytes !== null && <Payload id={id} entry={entry} />}</td>
              </tr>
            </>
          ))}
        </tbody>
      </table>
    </div>
  );
}

export function Payload({ id, entry }: { readonly id: string; readonly entry: Entry }) {
  const [shown, setShown] = useState<OutputOf<"runs.payload"> | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const size = bytes(entry.bytes ?? 0);
  if (problem !== null) return <span class="is-failed">{problem}</span>;
  if (shown !== null)
    return shown.readable ? (
      <JsonTree value={shown.value} />
    ) : (
      <span class="muted">
        {size}, codec {shown.codec}: this server cannot read it
      </span>
    );
  const look = () =>
    call("runs.payload", { id, seq: entry.seq }).then(setShown, (error) =>
      setProblem(error instanceof ApiRefusal ? error.message : String(error)),
    );
  return (
    <button
      type="button"
      class="link"
      disabled={!may("read")}
      title={may("read") ? "Each look is written to the audit" : "Needs the permission read"}
      onClick={look}
    >
      show {size}
    </button>
  );
}
