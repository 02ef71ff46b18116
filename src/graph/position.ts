// A position in a graph, as text: `search:2` is the second visit of the node `search`. A node inside another (of a
// branch or a subgraph) has its path and the visits along it: `research/plan` and `1.3`.

import { InvalidInput } from "../kernel/error.js";
import { stepName } from "../kernel/name.js";

/** The next node and the number of its visit; several side by side: `a:1,b:2`; or the end. */
export type Position = `${string}:${number}` | typeof END;

export const END = "end";

/** A node's place in the journal: the name and key of its entries. */
export interface NodePlace {
  readonly path: string;
  readonly visit: string;
}

/** The graph inside a node. The outermost one has an empty path. */
export type FrameId = string;

export const ROOT: NodePlace = { path: "", visit: "" };

export function positionOf(node: string, visit: number): Position {
  return `${node}:${visit}`;
}

export function parsePosition(position: string): { readonly node: string; readonly visit: number } {
  const colon = position.lastIndexOf(":");
  return { node: position.slice(0, colon), visit: Number(position.slice(colon + 1)) };
}

/** The nodes of a step: one, several side by side, or none at the end. No name has a colon. */
export function positionsIn(at: string): readonly Position[] {
  return at === END ? [] : (at.split(/(?<=:\d+),/) as Position[]);
}

/** Each once, in their order; the end only when nothing else is left. */
export function stepOf(positions: readonly Position[]): Position {
  const nodes = new Set(positions.flatMap(positionsIn));
  return nodes.size === 0 ? END : ([...nodes].join(",") as Position);
}

export function placeIn(frame: NodePlace, node: string, visit: number): NodePlace {
  if (frame.path === "") return { path: node, visit: String(visit) };
  return { path: `${frame.path}/${node}`, visit: `${frame.visit}.${visit}` };
}

/** The places of a frame's step. */
export function placesIn(frame: NodePlace, at: string): readonly NodePlace[] {
  return positionsIn(at).map((position) => {
    const { node, visit } = parsePosition(position);
    return placeIn(frame, node, visit);
  });
}

export function frameId({ path, visit }: NodePlace): FrameId {
  return path === "" ? "" : `${path}:${visit}`;
}

/** A position anywhere in a graph, as `placeIn` and `frameId` write it: `search:2`, `research/plan:1.3`; or the end. */
export function placeOf(position: string): NodePlace {
  if (position === END) return { path: END, visit: "" };
  const colon = position.lastIndexOf(":");
  return { path: position.slice(0, colon), visit: position.slice(colon + 1) };
}

/** The frame that has this place as its position. */
export function standingAt(place: NodePlace): { readonly frame: NodePlace; readonly position: Position } {
  const { frame, node } = parentOf(place);
  if (node === END) return { frame, position: END };
  return { frame, position: positionOf(node, Number(place.visit.slice(place.visit.lastIndexOf(".") + 1))) };
}

/** The places that a place lies in, from the outside. */
export function placesAround({ path, visit }: NodePlace): readonly NodePlace[] {
  const [names, visits] = [path.split("/"), visit.split(".")];
  return names
    .slice(1)
    .map((_, i) => ({ path: names.slice(0, i + 1).join("/"), visit: visits.slice(0, i + 1).join(".") }));
}

/** The frame that a node belongs to, and the node's own name in it. */
export function parentOf({ path, visit }: NodePlace): { readonly frame: NodePlace; readonly node: string } {
  const slash = path.lastIndexOf("/");
  if (slash === -1) return { frame: ROOT, node: path };
  const frame = { path: path.slice(0, slash), visit: visit.slice(0, visit.lastIndexOf(".")) };
  return { frame, node: path.slice(slash + 1) };
}

/** Whether a place is this one or lies inside it. */
export function isWithin(place: NodePlace, outer: NodePlace): boolean {
  if (place.path === outer.path) return place.visit === outer.visit || place.visit.startsWith(`${outer.visit}.`);
  return place.path.startsWith(`${outer.path}/`) && place.visit.startsWith(`${outer.visit}.`);
}

/**
 * `/` and `:` separate paths and visits; `end` is where every graph ends; JavaScript moves names that are numbers to
 * the front.
 */
export function graphNodeName(name: unknown, path: string): string {
  const text = stepName(name, path);
  if (text === END) throw new InvalidInput(path, '"end" cannot be a node: it is where a graph ends');
  if (/[/:]/.test(text)) throw new InvalidInput(path, `${JSON.stringify(text)} must not contain "/" or ":"`);
  if (/^\d+$/.test(text)) throw new InvalidInput(path, `${JSON.stringify(text)} must not be a number`);
  return text;
}
