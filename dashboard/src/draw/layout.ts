// Where boxes and arrows of a graph lie. The layout itself is computed by dagre in a worker; plain levels are the fallback.

export interface Box {
  readonly id: string;
  readonly width: number;
  readonly height: number;
}

export interface Arrow {
  readonly from: string;
  readonly to: string;
  readonly label?: string;
}

export interface GraphToLay {
  readonly boxes: readonly Box[];
  readonly arrows: readonly Arrow[];
  /** `LR`: from left to right. */
  readonly direction: "LR" | "TB";
}

export interface PlacedBox extends Box {
  /** Of its upper left corner. */
  readonly x: number;
  readonly y: number;
}

export interface PlacedArrow extends Arrow {
  readonly points: readonly { readonly x: number; readonly y: number }[];
}

export interface Layout {
  readonly width: number;
  readonly height: number;
  readonly boxes: readonly PlacedBox[];
  readonly arrows: readonly PlacedArrow[];
}

const GAP_X = 46;
const GAP_Y = 18;

/** Columns by level, never empty: for when the real layout takes too long. */
export function levelLayout({ boxes, arrows }: GraphToLay, levelOf: (id: string) => number = () => 0): Layout {
  const columns = new Map<number, Box[]>();
  for (const box of boxes) columns.set(levelOf(box.id), [...(columns.get(levelOf(box.id)) ?? []), box]);
  const placed: PlacedBox[] = [];
  let x = 0;
  for (const level of [...columns.keys()].sort((a, b) => a - b)) {
    let y = 0;
    const column = columns.get(level) as Box[];
    for (const box of column) {
      placed.push({ ...box, x, y });
      y += box.height + GAP_Y;
    }
    x += Math.max(...column.map(({ width }) => width)) + GAP_X;
  }
  return {
    width: Math.max(0, x - GAP_X),
    height: Math.max(0, ...placed.map(({ y, height }) => y + height)),
    boxes: placed,
    arrows: arrows.flatMap((arrow) => straight(arrow, placed) ?? []),
  };
}

function straight(arrow: Arrow, placed: readonly PlacedBox[]): PlacedArrow | null {
  const from = placed.find(({ id }) => id === arrow.from);
  const to = placed.find(({ id }) => id === arrow.to);
  if (!from || !to) return null;
  const points = [
    { x: from.x + from.width, y: from.y + from.height / 2 },
    { x: to.x, y: to.y + to.height / 2 },
  ];
  return { ...arrow, points };
}

/** The breadth-first distance from the start: levels for a graph with cycles. */
export function distances(start: string, arrows: readonly Arrow[]): ReadonlyMap<string, number> {
  const found = new Map([[start, 0]]);
  const queue = [start];
  for (const id of queue) {
    for (const { from, to } of arrows) {
      if (from !== id || found.has(to)) continue;
      found.set(to, (found.get(id) as number) + 1);
      queue.push(to);
    }
  }
  return found;
}

/** A smooth line through the points. */
export function arrowPath(points: PlacedArrow["points"]): string {
  const [first, ...rest] = points;
  if (first === undefined) return "";
  const round = (n: number) => Math.round(n * 10) / 10;
  const at = ({ x, y }: { readonly x: number; readonly y: number }) => `${round(x)} ${round(y)}`;
  if (rest.length < 2) return `M${at(first)}${rest.map((point) => `L${at(point)}`).join("")}`;
  const middles = rest.slice(0, -1).map((point, i) => {
    const next = rest[i + 1] as { x: number; y: number };
    const end = i === rest.length - 2 ? next : { x: (point.x + next.x) / 2, y: (point.y + next.y) / 2 };
    return `Q${at(point)} ${at(end)}`;
  });
  return `M${at(first)}${middles.join("")}`;
}
