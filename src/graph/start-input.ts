// The input of a run with more than its input: its breakpoints, its thread. A caller cannot send one; the client wraps it.

/** By name; a node of a subgraph by its path. */
export interface Breakpoints<N extends string = string> {
  /** Pauses before these graph nodes. */
  readonly before?: readonly (N | `${N}/${string}`)[];
  /** Pauses after these graph nodes. */
  readonly after?: readonly (N | `${N}/${string}`)[];
}

export interface StartInput {
  readonly "~start": { readonly breakpoints?: Breakpoints; readonly thread?: string };
  readonly input: unknown;
}

export function isStart(input: unknown): input is StartInput {
  if (typeof input !== "object" || input === null || !Object.hasOwn(input, "~start")) return false;
  return Object.keys(input).length === 2 && Object.hasOwn(input, "input");
}

/** What the caller gave. */
export function givenInput(input: unknown): unknown {
  return isStart(input) ? input.input : input;
}
