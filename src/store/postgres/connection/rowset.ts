// A batch as parameters of a statement: one array per column. Name, type and value of a column are written once, here the SQL
// (`unnest` with its aliases) and the arrays are made from them.
//
// Seen as `unnest($1)`, an array's length decides the plan: prepared statements were planned for 10 rows and looped
// n × n (17 ms instead of 4 for 200 commits), plans for the real length hashed the whole table of runs instead of looking
// rows up (32 ms for 250). Behind a sub-select every plan, at any batch size and with any statistics, is the same: 10 rows
// expected, each looked up by its key. So nothing in a batch statement may be *joined* to another part of the batch:
// parts find each other by array subscript (constant time for types of fixed width) or by `oneOf`, a hashed look-up.

type Type = "uuid" | "bigint" | "int" | "float8" | "bool" | "text";

export interface Column<Item> {
  readonly type: Type;
  readonly value: (item: Item, index: number) => unknown;
}

export type Columns<Item, Name extends string = string> = { readonly [K in Name]: Column<Item> };

const column =
  (type: Type) =>
  <Item>(value: Column<Item>["value"]): Column<Item> => ({ type, value });

export const uuid = column("uuid");
export const bigint = column("bigint");
export const int = column("int");
export const float8 = column("float8");
export const bool = column("bool");
export const text = column("text");

/** A column in which all rows have the same value. It is sent once, as an array whose only element has the index 0. */
export class Folded {
  readonly value: unknown;

  constructor(value: unknown) {
    this.value = value;
  }
}

/**
 * The columns of the rows of one batch: `rowset<Claim>()({ run_id: uuid((claim) => claim.runId), … })`.
 * `folds`: each column but the first is sent as `Folded` when it has one value. For large batches: an element of an `unnest` takes
 * the server about 0.3 µs, and most columns of a batch of starts or ends have one value.
 */
export function rowset<Item>({ folds = false }: { readonly folds?: boolean } = {}) {
  return <Name extends string>(columns: { readonly [K in Name]: Column<Item> }) =>
    new Rowset<Item, Name>(columns, folds);
}

export class Rowset<Item, Name extends string> {
  readonly #columns: readonly (readonly [Name, Column<Item>])[];
  readonly #folds: boolean;

  constructor(columns: Columns<Item, Name>, folds: boolean) {
    this.#columns = Object.entries(columns) as [Name, Column<Item>][];
    this.#folds = folds;
  }

  /** The parameters: one array per column, also when there is no item. */
  arrays(items: readonly Item[]): unknown[] {
    return this.#columns.map(([, { value }], i) => {
      const values = items.map(value);
      return this.#folds && i > 0 && isOneValue(values) ? new Folded(values[0]) : values;
    });
  }

  /** The same columns as SQL, with `$first` as the first parameter. */
  from(first: number): Unnested<Name> {
    return new Unnested(
      this.#columns.map(([name, { type }], i) => ({ name, type, parameter: first + i, folds: this.#folds && i > 0 })),
    );
  }
}

function isOneValue(values: readonly unknown[]): boolean {
  return values.length > 1 && values.every((value) => value === values[0]);
}

interface Parameter<Name> {
  readonly name: Name;
  readonly type: Type;
  readonly parameter: number;
  readonly folds: boolean;
}

/** What a part of a statement needs of a rowset that has these columns. */
export interface HasColumns<Name extends string> {
  readonly next: number;
  readonly at: (name: Name, index: string) => string;
}

/** A rowset at its place among the parameters of a statement. */
export class Unnested<Name extends string> implements HasColumns<Name> {
  readonly #parameters: readonly Parameter<Name>[];

  constructor(parameters: readonly Parameter<Name>[]) {
    this.#parameters = parameters;
  }

  /** The number of the parameter that follows. */
  get next(): number {
    return this.#parameters.at(-1)!.parameter + 1;
  }

  /** The names, for the column list of an INSERT or a SELECT. */
  get names(): string {
    return this.#parameters.map(({ name }) => name).join(", ");
  }

  /** For FROM. `ordinality`: the name of one more column, which counts the rows from 1. */
  as(alias: string, ordinality?: string): string {
    const arrays = this.#parameters.map(({ type, parameter }) => `(select $${parameter}::${type}[])`);
    const names = ordinality === undefined ? this.names : `${this.names}, ${ordinality}`;
    const rows = `unnest(${arrays.join(", ")})${ordinality === undefined ? "" : " with ordinality"}`;
    if (!this.#parameters.some(({ folds }) => folds)) return `${rows} as ${alias}(${names})`;
    const unfolded = this.#parameters.map(({ name, folds }) =>
      folds ? `coalesce(u.${name}, (${this.array(name)})[0]) as ${name}` : `u.${name}`,
    );
    if (ordinality !== undefined) unfolded.push(`u.${ordinality}`);
    return `(select ${unfolded.join(", ")} from ${rows} as u(${names})) as ${alias}`;
  }

  /** Some of the columns; of a rowset that folds, the first among them: only that one has an element for each row. */
  only(...names: readonly Name[]): Unnested<Name> {
    return new Unnested(names.map((name) => this.#find(name)));
  }

  /** The whole array of a column. */
  array(name: Name): string {
    const { type, parameter } = this.#find(name);
    return `$${parameter}::${type}[]`;
  }

  /** The element of a column at an index expression, counted from 1. Of fixed-width types only: others are searched from the start. */
  at(name: Name, index: string): string {
    const array = `(${this.array(name)})`;
    return this.#find(name).folds ? `coalesce(${array}[${index}], ${array}[0])` : `${array}[${index}]`;
  }

  #find(name: Name): Parameter<Name> {
    return this.#parameters.find((one) => one.name === name)!;
  }
}

/** A batch that is nothing but ids. */
export const IDS = rowset<string | null>()({ id: uuid((id) => id) });

/** True when the expression is in the first column of the query. Wrapped, because as a bare IN it becomes a join. */
export function oneOf(expression: string, query: string): string {
  return `((${expression} in (${query})) is not false)`;
}
