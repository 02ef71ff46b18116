// How the store reads columns: by readers of its own. Those of the driver are the application's, which may have replaced them.

import pg from "pg";

type Reader = (text: string) => unknown;

const { BOOL, INT2, INT4, OID, FLOAT4, FLOAT8, JSON: JSON_TYPE, JSONB } = pg.types.builtins;

/** The types of the driver describe another form of it. */
const arrays = pg.types.arrayParser as unknown as {
  create(text: string, read: Reader): { parse(): unknown[] };
};

const asIs: Reader = (text) => text;

/** Everything else is read as text: 64-bit and exact numbers, ids, names; times are never read (instant.ts). */
const READERS: ReadonlyMap<number, Reader> = new Map<number, Reader>([
  [BOOL, (text) => text === "t"],
  ...[INT2, INT4, OID, FLOAT4, FLOAT8].map((type) => [type, Number] as const),
  ...[JSON_TYPE, JSONB].map((type) => [type, (text: string) => JSON.parse(text)] as const),
]);

/** By the type of an array, that of its elements; others, such as text and uuid, are read as text. */
const ELEMENTS: ReadonlyMap<number, number> = new Map<number, number>([
  [1000, BOOL],
  [1005, INT2],
  [1007, INT4],
  [1021, FLOAT4],
  [1022, FLOAT8],
  [199, JSON_TYPE],
  [3807, JSONB],
  ...[1009, 1015, 1016, 2951].map((type) => [type, 0] as const),
]);

export function readerOf(type: number): Reader {
  const element = ELEMENTS.get(type);
  if (element === undefined) return READERS.get(type) ?? asIs;
  const read = READERS.get(element) ?? asIs;
  return (text) => arrays.create(text, read).parse();
}

/** For a query of the driver. */
export const OUR_TYPES: pg.CustomTypesConfig = { getTypeParser: (type: number) => readerOf(type) };
