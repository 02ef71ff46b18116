// The part of Standard Schema (version 1) that validates input. Zod, valibot, arktype and others implement it. Declared
// here, because a package for one interface is one package too many to install.

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

export interface SchemaIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

export type InputOf<S extends Schema> = NonNullable<S["~standard"]["types"]>["input"];
export type OutputOf<S extends Schema> = NonNullable<S["~standard"]["types"]>["output"];
