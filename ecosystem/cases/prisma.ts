// Prisma with its own engine: the cases of the other ORMs, and the example of the documentation.

import { deepEqual, equal, rejects } from "node:assert/strict";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { createNode } from "holdfast";
import { postgres } from "holdfast/postgres";
import pg from "pg";
import type { OpenOrm } from "../../test/orm/orm.js";
import { bookingOf, doAll, order, QUICK, seen, TABLE } from "../../test/orm/scene.js";
import { HERE, PACKAGES, type Place, ROOT, run, until, Watched } from "../place.js";

const ORM = join(HERE, "prisma/orm.ts");
const TSX = ["--import", pathToFileURL(join(ROOT, "node_modules/tsx/dist/esm/index.mjs")).href];

/** The generator runs without an engine of its own; it asks for one all the same, and would download it. */
async function generate(): Promise<void> {
  const env = { PRISMA_SCHEMA_ENGINE_BINARY: "/bin/true", CHECKPOINT_DISABLE: "1" };
  await run(join(PACKAGES, ".bin/prisma"), ["generate", "--schema", "prisma/schema.prisma"], { env });
}

async function scene(place: Place) {
  await generate();
  const url = await place.newDatabase();
  const pool = new pg.Pool({ connectionString: url, max: 2 });
  await pool.query(`create table bookings ${TABLE}`);
  const store = postgres(url);
  await store.migrate();
  const { ORMS } = (await import(pathToFileURL(ORM).href)) as { ORMS: Record<string, OpenOrm> };
  const orm = ORMS["prisma"]!(url, "public");
  const orms = new Map([["prisma", orm]]);
  const written = async (of: string) =>
    (await pool.query("select what from bookings where run = $1 order by what", [of])).rows.map(({ what }) => what);
  const close = async () => {
    await orm.close();
    await store.close();
    await pool.end();
  };
  return { url, pool, store, orm, orms, written, close };
}

async function inItsTransaction(place: Place): Promise<object> {
  const { store, orm, written, close } = await scene(place);
  const node = await createNode({ store, ...QUICK, programs: [order, seen] });
  const open = await node.start(order, { seat: "first" });
  await until(async () => ((await open.status()).state === "parked" ? true : null));
  await doAll(node, orm, open.id, "commits", async () => {
    deepEqual([await written("commits"), await store.inbox.unread(open.id)], [[], []]);
  });
  equal(await open.result({ timeout: "5s" }), "300 approved");
  deepEqual(await written("commits"), ["order"]);

  const second = await node.start(order, { seat: "second" });
  await rejects(
    doAll(node, orm, second.id, "rolls back", () => Promise.reject(new RangeError("no seat"))),
    /no seat/,
  );
  deepEqual([await written("rolls back"), await store.inbox.unread(second.id)], [[], []]);
  equal(await node.runs.get({ program: order, key: "rolls back" }), null);
  await node.stop({ grace: 0 });
  await close();
  return {};
}

async function inAStep(place: Place): Promise<object> {
  const { store, orms, written, close } = await scene(place);
  const booking = bookingOf(orms, "booking");
  const node = await createNode({ store, ...QUICK, programs: [booking] });
  const run = await node.start(booking, { orm: "prisma", holds: false });
  equal(await run.result({ timeout: "10s" }), 1);
  deepEqual(await written(run.id), ["meal", "seat"]);
  await node.stop({ grace: 0 });
  await close();
  return {};
}

async function killed(place: Place): Promise<object> {
  const { url, store, orms, written, close } = await scene(place);
  const args = [...TSX, join(ROOT, "test/orm/orm.child.ts"), url, "public", ORM, "holdfast"];
  const child = new Watched(process.execPath, args, { env: { TSX_TSCONFIG_PATH: join(ROOT, "tsconfig.json") } });
  for (const point of ["between", "behind", "step"]) await child.line(point);
  await child.end("SIGKILL");
  const dying = bookingOf(orms, "dying");
  const node = await createNode({ store, ...QUICK, programs: [dying, order] });
  const run = await node.start(dying, { orm: "prisma", holds: true }, { key: "dying prisma" });
  equal(await run.result({ timeout: "20s" }), 1);
  deepEqual(await written(run.id), ["meal", "seat"]);
  deepEqual([await written("prisma between"), await written("prisma behind")], [[], []]);
  equal(await node.runs.get({ program: order, key: "prisma behind" }), null);
  await node.stop({ grace: 0 });
  await close();
  return {};
}

async function example(place: Place): Promise<object> {
  await generate();
  const url = await place.newDatabase();
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(`create table bookings ${TABLE}`);
  await client.end();
  const printed = await run(process.execPath, [...TSX, "examples/prisma.ts"], { env: { DATABASE_URL: url } });
  equal(printed.includes("what: 'order'") && printed.includes("what: 'seat'"), true, printed);
  return {};
}

const TYPESCRIPT = { newest: join(ROOT, "node_modules/typescript"), oldest: join(PACKAGES, "typescript-5") };

/** Against the types of the packed file; Prisma's are generated. */
const types = (compiler: keyof typeof TYPESCRIPT) => async (): Promise<object> => {
  await generate();
  const tsc = [join(TYPESCRIPT[compiler], "bin/tsc")];
  const version = (await run(process.execPath, [...tsc, "--version"])).trim();
  await run(process.execPath, [...tsc, "-p", "tsconfig.json"]).catch((error) => {
    throw new TypeError(error.stdout);
  });
  return { version };
};

export const PRISMA = {
  "types of the examples": types("newest"),
  "types on the oldest TypeScript": types("oldest"),
  "prisma: in its transaction": inItsTransaction,
  "prisma: in a step": inAStep,
  "prisma: killed": killed,
  "prisma: example": example,
};
