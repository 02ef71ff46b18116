// Frameworks: each example of the documentation, and Next.js with its development server and hot reload.

import { equal, match } from "node:assert/strict";
import { cp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { postgres } from "holdfast/postgres";
import pg from "pg";
import { HERE, PACKAGES, type Place, ROOT, run, until, Watched } from "../place.js";

const TSX = ["--import", pathToFileURL(join(ROOT, "node_modules/tsx/dist/esm/index.mjs")).href];

const example = (file: string, expected: string) => async (place: Place) => {
  const env = { DATABASE_URL: await place.newDatabase(), TSX_TSCONFIG_PATH: join(HERE, "tsconfig.json") };
  equal((await run(process.execPath, [...TSX, join("examples", file)], { env })).trim(), expected);
  return {};
};

/** Nodes that have not stopped. */
async function nodesAt(url: string): Promise<number> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query("select count(*)::int as n from holdfast.nodes where stopped_at is null");
  await client.end();
  return rows[0].n;
}

async function next(place: Place): Promise<object> {
  const folder = await place.newFolder();
  await cp(join(HERE, "next-app"), folder, { recursive: true });
  await cp(PACKAGES, join(folder, "node_modules"), { recursive: true, filter: (path) => !UNUSED.test(path) });
  const url = await place.newDatabase();
  const store = postgres(url);
  await store.migrate();
  await store.close();
  const env = { DATABASE_URL: url, NEXT_TELEMETRY_DISABLED: "1", NODE_ENV: "development" };
  const server = new Watched(process.execPath, ["node_modules/next/dist/bin/next", "dev", "-p", "0"], {
    cwd: folder,
    env,
  });
  try {
    const origin = /http:\S+/.exec(await server.line("- Local:", 120_000))![0];
    const order = async (id: string) => {
      const body = JSON.stringify({ id });
      const response = await fetch(`${origin}/orders`, { method: "POST", body });
      equal(response.status, 202, `${server.lines.join("\n")}\n${server.errors.join("\n")}`);
      return ((await response.json()) as { result: string }).result;
    };
    match(await order("o-1"), /version 1/);
    equal(await nodesAt(url), 1);
    const file = join(folder, "lib/order.js");
    for (const version of [2, 3]) {
      await writeFile(file, (await readFile(file, "utf8")).replace(/version \d/, `version ${version}`));
      let asked = 0;
      // Until the development server has noticed the change.
      await until(async () => {
        asked++;
        return (await order(`o-${version}-${asked}`)).includes(`version ${version}`) ? true : null;
      });
      equal(await nodesAt(url), 1);
    }
    return { reloads: 2, nodes: 1 };
  } finally {
    await server.end("SIGKILL");
  }
}
/** Large, and of no use to a web server. */
const UNUSED = /node_modules\/(node-\d\d|@oven|@deno|@prisma|prisma|@nestjs|@electric-sql|@arethetypeswrong)(\/|$)/;

const RESULT = "{ result: 'charged 300 for o-1' }";

export const FRAMEWORKS = {
  fastify: example("fastify.ts", `202\n${RESULT}`),
  nest: example("nest.ts", `201\n${RESULT}`),
  next,
};
