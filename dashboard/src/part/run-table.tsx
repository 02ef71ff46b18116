// The rows of runs, drawn only near the window.

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { doing } from "../draw/doing.js";
import { shortId } from "../live/address.js";
import { now, tick } from "../live/clock.js";
import type { RunRow } from "../live/model.js";
import { href } from "../live/router.js";
import { Owner } from "./owner.js";
import { State } from "./state.js";
import { Age } from "./time.js";
import { useVirtualRows } from "./virtual.js";

interface RunTableProps {
  readonly rows: readonly RunRow[];
  readonly selected: ReadonlySet<string>;
  readonly current: number;
  readonly toggle: (id: string) => void;
}

const PHONE = matchMedia("(max-width: 760px)");

export function RunTable({ rows, selected, current, toggle }: RunTableProps) {
  const box = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const rowHeight = usePhone() ? 92 : 38;
  useLayoutEffect(() => {
    if (box.current) setTop(box.current.getBoundingClientRect().top + scrollY);
  }, [rows.length, rowHeight]);
  const virtual = useVirtualRows(rows.length, { rowHeight, top });
  useLayoutEffect(() => virtual.measure(), [rowHeight]);
  useEffect(() => {
    if (current >= 0) virtual.scrollToIndex(current, { align: "auto" });
  }, [current]);
  return (
    <div class="run-table" role="table" aria-label="Runs" aria-rowcount={rows.length}>
      <div role="rowgroup">
        <div class="run-head" role="row">
          <span role="columnheader">
            <span class="sr">Selected</span>
          </span>
          <span role="columnheader">State</span>
          <span role="columnheader">Program</span>
          <span role="columnheader">Key or id</span>
          <span role="columnheader">Created</span>
          <span role="columnheader">Now</span>
          <span role="columnheader">Owner</span>
        </div>
      </div>
      <div ref={box} class="run-rows" role="rowgroup" style={{ height: `${virtual.getTotalSize()}px` }}>
        {virtual.getVirtualItems().map(({ index, start }) => {
          const run = rows[index];
          if (run === undefined) return null;
          return (
            <Row
              key={run.id}
              run={run}
              y={start - top}
              index={index}
              isCurrent={index === current}
              isSelected={selected.has(run.id)}
              toggle={toggle}
            />
          );
        })}
      </div>
    </div>
  );
}

interface RowProps {
  readonly run: RunRow;
  readonly y: number;
  readonly index: number;
  readonly isCurrent: boolean;
  readonly isSelected: boolean;
  readonly toggle: (id: string) => void;
}

function Row({ run, y, index, isCurrent, isSelected, toggle }: RowProps) {
  tick.value;
  const says = doing(run, now());
  return (
    <div
      class={`run-row ${isCurrent ? "is-current" : ""}`}
      role="row"
      aria-rowindex={index + 1}
      style={{ transform: `translateY(${y}px)` }}
    >
      <span role="cell">
        <input
          type="checkbox"
          checked={isSelected}
          onChange={() => toggle(run.id)}
          aria-label={`Select ${run.program} ${shortId(run.id)}`}
        />
      </span>
      <span role="cell">
        <State state={run.state} warn={run.noCapableNode} />
      </span>
      <span role="cell" class="cut">
        <a class="program" href={href(`/runs/${run.id}`)}>
          {run.program}
        </a>
        {run.stack !== null && <span class="muted"> · {run.stack}</span>}
      </span>
      <span role="cell" class="cut mono">
        <a href={href(`/runs/${run.id}`)} tabIndex={-1}>
          {run.key ?? shortId(run.id)}
        </a>
      </span>
      <span role="cell" class="muted">
        <Age at={run.createdAt} />
      </span>
      <span role="cell" class="cut" title={says}>
        {says}
      </span>
      <span role="cell">
        <Owner holder={run.owner === null ? null : { incarnation: run.owner, identity: null, name: run.ownerName }} />
      </span>
    </div>
  );
}

function usePhone(): boolean {
  const [phone, setPhone] = useState(PHONE.matches);
  useEffect(() => {
    const listen = () => setPhone(PHONE.matches);
    PHONE.addEventListener("change", listen);
    return () => PHONE.removeEventListener("change", listen);
  }, []);
  return phone;
}
