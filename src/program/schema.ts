// The part of Standard Schema (version 1) that validates input. Zod, valibot, arktype and others implement it. Declared
// here, because a package for one interface is one package too many to install.

/** A schema by the Standard Schema interface, such as one of zod, valibot or arktype. */
export interface Schema<In = unknown, Out = In> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => Validated<Out> | Promise<Validated<Out>>;
    /** Carries the types only. */
    readonly types?: { readonly input: In; readonly output: Out } | undefined;
  };
}

export type Validated<Out> =
  | { readonly value: Out; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] };

/** What a schema found wrong. */
export interface SchemaIssue {
  /** What is wrong. */
  readonly message: string;
  /** Where, from the root of the value. */
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

export type InputOf<S extends Schema> = NonNullable<S["~standard"]["types"]>["input"];
export type OutputOf<S extends Schema> = NonNullable<S["~standard"]["types"]>["output"];
