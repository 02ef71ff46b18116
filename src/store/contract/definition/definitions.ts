// Definitions: programs as data. Every node of an env loads them, and loads them again when they have changed.

export const DEFINITION_KINDS = ["actor", "dag"] as const;
export type DefinitionKind = (typeof DEFINITION_KINDS)[number];

/** Identifies a definition. */
export interface DefinitionName {
  /** Its environment. */
  readonly env: string;
  /** An actor or a DAG. */
  readonly kind: DefinitionKind;
  /** Its name. */
  readonly name: string;
}

export interface NewDefinition extends DefinitionName {
  /** JSON. Its shape depends on the kind. */
  readonly body: string;
  /** The program names of its runs. */
  readonly programs: readonly string[];
  /** Who saves it. */
  readonly by: string;
  /** Only over this version; 0: only when there is none yet. */
  readonly expectedVersion?: number;
}

/** A definition as it is stored. */
export interface DefinitionRecord extends DefinitionName {
  /** Starts at 1 and increases with each new body, even when the definition was removed in between. */
  readonly version: number;
  /** Not enabled: nothing starts it, and its runs that have begun continue. */
  readonly enabled: boolean;
  /** The definition as JSON. */
  readonly body: string;
  /** Who changed it last, and when. */
  readonly by: string;
  /** When this version was saved; ms since 1970. */
  readonly at: number;
}

export type SaveAnswer =
  /** Also when the same body was stored before. */
  | { readonly outcome: "saved"; readonly version: number }
  /** The version that exists instead; 0: none. Nothing was written. */
  | { readonly outcome: "conflict"; readonly version: number };

export interface DefinitionList {
  /** Changes whenever a definition changes. */
  readonly revision: string;
  /** By kind and name; null when the revision is the one that was given. */
  readonly definitions: readonly DefinitionRecord[] | null;
}

/** A version that was saved over, or removed. */
export type OlderDefinition = Pick<DefinitionRecord, "env" | "kind" | "name" | "version" | "body">;

export interface DefinitionStore {
  /** A new definition is enabled; an existing one stays enabled or disabled. */
  save(definition: NewDefinition): Promise<SaveAnswer>;
  /** Returns whether there is such a definition. */
  enable(definition: DefinitionName, enabled: boolean, by: string): Promise<boolean>;
  remove(definition: DefinitionName): Promise<void>;
  /**
   * Versions that are no longer current and that runs still need: runs pinned to one, and runs of a program that the current
   * version no longer has. By kind, name and version.
   */
  older(env: string): Promise<readonly OlderDefinition[]>;
  list(env: string, options?: { readonly unlessRevision?: string }): Promise<DefinitionList>;
}
