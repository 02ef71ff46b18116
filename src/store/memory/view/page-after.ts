// A page of rows in order: after the row whose place was given.

import type { ViewPage } from "../../contract/view/views.js";

/** A row and its place, which is the cursor of the page that it ends. */
export interface Placed<Row> {
  readonly place: string;
  readonly row: Row;
}

export function pageAfter<Row>(
  rows: readonly Placed<Row>[],
  { limit, after }: { readonly limit: number; readonly after?: string },
): ViewPage<Row> {
  const begin = after === undefined ? 0 : rows.findIndex(({ place }) => place === after) + 1;
  const shown = rows.slice(begin, begin + limit);
  return { rows: shown.map(({ row }) => row), next: begin + limit < rows.length ? shown.at(-1)!.place : null };
}
