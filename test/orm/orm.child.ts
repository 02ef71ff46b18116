// A process that dies with open transactions of each ORM: between its own write and Holdfast's, behind both, and in a step.

import { pathToFileURL } from "node:url";
import { createClient, createNode } from "holdfast";
import { postgres } from "holdfast/postgres";
import type { OpenOrm, Orm } from "./orm.js";
import { bookingOf, order, QUICK } from "./scene.js";

/** `home`: the schema of Holdfast; that of the ORM by default. */
const [url, schema, file, home = schema] = process.argv.slice(2) as [string, string, string, string?];
const { ORMS } = (await import(pathToFileURL(file).href)) as { ORMS: Readonly<Record<string, OpenOrm>> };
const orms = new Map<string, Orm>(Object.entries(ORMS).map(([name, open]) => [name, open(url, schema)]));
const store = postgres(url, { schema: home });
const client = createClient({ store });
const forEver = () => new Promise<void>(() => setInterval(() => {}, 1_000));
/** Reported by what reaches the point at which it is killed. */
const reach = (what: string) => {
  process.stdout.write(`${what}\n`);
  return forEver();
};

const booking = bookingOf(orms, "dying", () => reach("step"));
const node = await createNode({ store, ...QUICK, identity: { id: "dying" }, programs: [booking] });
for (const [name, orm] of orms) {
  await node.start(booking, { orm: name, holds: true }, { key: `dying ${name}` });
  void orm.transaction(async (write) => {
    await write(`${name} between`, "order");
    await reach("between");
  });
  void orm.transaction(async (write, tx) => {
    await write(`${name} behind`, "order");
    await client.start(order, { seat: name }, { key: `${name} behind`, tx });
    await reach("behind");
  });
}
