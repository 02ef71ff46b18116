// Prisma: a row and a run in one transaction of Prisma's, and a row of Prisma's in the transaction of a step.
import { PrismaPg } from "@prisma/adapter-pg";
import { createNode, workflow } from "holdfast";
import { postgres } from "holdfast/postgres";
import { fromPrisma, prismaAdapter } from "holdfast/prisma";
import { PrismaClient } from "../.generated/prisma/client.js";

const url = process.env["DATABASE_URL"]!;
const store = postgres(url);
await store.migrate();
const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: url }) });

const ship = workflow("ship", async (ctx, id: string) =>
  ctx.transaction("seat", async (tx) => {
    const inStep = new PrismaClient({ adapter: prismaAdapter(PrismaPg, tx) });
    return inStep.booking.create({ data: { run: id, what: "seat" } });
  }),
);
const node = await createNode({ store, programs: [ship] });

const run = await prisma.$transaction(async (tx) => {
  await tx.booking.create({ data: { run: "o-1", what: "order" } });
  return node.start(ship, "o-1", { tx: fromPrisma(tx) });
});

console.log(await run.result());
console.log(await prisma.booking.findMany({ where: { run: "o-1" }, orderBy: { id: "asc" } }));

await node.stop();
await store.close();
await prisma.$disconnect();
