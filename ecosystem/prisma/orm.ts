// Prisma as an application sets it up, with its own engine and the adapter for `pg`.

import { PrismaPg } from "@prisma/adapter-pg";
import { fromPrisma, prismaAdapter } from "holdfast/prisma";
import type { OpenOrm, Write } from "../../test/orm/orm.js";
import { type Prisma, PrismaClient } from "../.generated/prisma/client.js";

const openPrisma: OpenOrm = (url, schema) => {
  const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString: url }, { schema }) });
  const writing =
    (to: Prisma.TransactionClient): Write =>
    (run, what) =>
      to.booking.create({ data: { run, what } });
  return {
    name: "prisma",
    transaction: (work) => prisma.$transaction((tx) => work(writing(tx), fromPrisma(tx)), { timeout: 30_000 }),
    over: (tx) => {
      const inStep = new PrismaClient({ adapter: prismaAdapter(PrismaPg, tx, { schema }) });
      return { write: writing(inStep), nested: (work) => inStep.$transaction((inner) => work(writing(inner))) };
    },
    close: () => prisma.$disconnect(),
  };
};

export const ORMS = { prisma: openPrisma };
