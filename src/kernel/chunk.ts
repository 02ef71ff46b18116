// Cuts work into batches that are neither too many rows nor too many bytes for one statement.

export interface BatchLimits<Item> {
  readonly maxRows: number;
  readonly maxBytes: number;
  /** How many rows an item adds to the statement, and roughly how many bytes. One item alone may exceed both limits. */
  readonly sizeOf: (item: Item) => { readonly rows: number; readonly bytes: number };
}

/** How many of the first items fit into one batch; at least one. */
export function fitting<Item>(items: readonly Item[], { maxRows, maxBytes, sizeOf }: BatchLimits<Item>): number {
  let rows = 0;
  let bytes = 0;
  for (let n = 0; n < items.length; n++) {
    const size = sizeOf(items[n]!);
    rows += size.rows;
    bytes += size.bytes;
    if (n > 0 && (rows > maxRows || bytes > maxBytes)) return n;
  }
  return items.length;
}

/** Sends items batch after batch; the answers stand in the order of the items. */
export async function inBatches<Item, Answer>(
  items: readonly Item[],
  limits: BatchLimits<Item>,
  send: (batch: readonly Item[]) => Promise<readonly Answer[]>,
): Promise<readonly Answer[]> {
  const first = fitting(items, limits);
  if (first === items.length && first > 0) return send(items);
  const answers: Answer[] = [];
  for (let from = 0, n = first; from < items.length; n = fitting(items.slice(from), limits)) {
    answers.push(...(await send(items.slice(from, from + n))));
    from += n;
  }
  return answers;
}
