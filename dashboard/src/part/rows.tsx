// A table of rows from a list of columns; on a phone each row is a card whose cells carry the column's title.

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { useKeys } from "../live/keys.js";
import { go } from "../live/router.js";

export interface Column<Row> {
  readonly title: string;
  readonly cell: (row: Row) => ComponentChildren;
  readonly class?: string;
}

interface RowsProps<Row> {
  readonly rows: readonly Row[];
  readonly columns: readonly Column<Row>[];
  readonly id: (row: Row) => string;
  /** Where Enter leads. */
  readonly to?: (row: Row) => string;
}

export function Rows<Row>({ rows, columns, id, to }: RowsProps<Row>) {
  const [current, setCurrent] = useState(-1);
  useKeys({
    j: () => setCurrent((i) => Math.min(i + 1, rows.length - 1)),
    k: () => setCurrent((i) => Math.max(i - 1, 0)),
    Enter: () => {
      const row = rows[current];
      if (row !== undefined && to) go(to(row));
    },
  });
  return (
    <div class="table-box">
      <table class="cards">
        <thead>
          <tr>
            {columns.map(({ title, class: extra }) => (
              <th key={title} class={extra}>
                {title === "" ? <span class="sr">Verbs</span> : title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, i) => (
            <tr key={id(row)} class={i === current ? "is-current" : undefined}>
              {columns.map(({ title, cell, class: extra }) => (
                <td key={title} class={extra} data-label={title === "" ? undefined : title}>
                  {cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
