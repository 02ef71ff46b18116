// Definitions: programs as data. Every node of an env loads them, and finds out when they have changed.

export const DEFINITION_KINDS = ["actor", "dag"] as const;
export type DefinitionKind = (typeof DEFINITION_KINDS)[number];

export interface DefinitionName {
  readonly env: string;
  readonly kind: DefinitionKind;
  readonly name: string;
}

export interface NewDefinition extends DefinitionName {
  /** JSON. What it must look like is its kind's affair. */
  readonly body: string;
  /** The names under which its runs stand. */
  readonly programs: readonly string[];
  /** Who saves it. */
  readonly by: string;
  /** Only over this version; 0: only when there is none yet. */
  readonly expectedVersion?: number;
}

export interface DefinitionRecord extends DefinitionName {
  /** Starts at 1 and increases with each new body, even when the definition was removed in between. */
  readonly version: number;
  /** Not enabled: nothing starts it, and its runs that have begun continue. */
  readonly enabled: boolean;
  readonly body: string;
  /** Who changed it last, and when. */
  readonly by: string;
  readonly at: number;
}

export type SaveAnswer =
  /** Also when the very same body stood there before. */
  | { readonly outcome: "saved"; readonly version: number }
  /** Another version is there; 0: none. Nothing was written. */
  | { readonly outcome: "conflict"; readonly version: number };

export interface DefinitionList {
  /** Another one when anything has changed. */
  readonly revision: string;
  /** By kind and name; null when the revision is the one that was given. */
  readonly definitions: readonly DefinitionRecord[] | null;
}

/** A version that was saved over, or removed. */
export type OlderDefinition = Pick<DefinitionRecord, "env" | "kind" | "name" | "version" | "body">;

export interface DefinitionStore {
  /** A new one is enabled; an existing one stays as it is in that. */
  save(definition: NewDefinition): Promise<SaveAnswer>;
  /** Answers whether there is such a definition. */
  enable(definition: DefinitionName, enabled: boolean, by: string): Promise<boolean>;
  remove(definition: DefinitionName): Promise<void>;
  /**
   * Versions that are no longer current and that runs wait for now: those pinned to one, and those of a program that the
   * current one has no more. By kind, name and version.
   */
  older(env: string): Promise<readonly OlderDefinition[]>;
  list(env: string, options?: { readonly unlessRevision?: string }): Promise<DefinitionList>;
}
