// A node process with one of two versions of the code, for the test that rolls them.

import { createNode } from "../../src/node/create-node.js";
import { openPostgres } from "../../src/store/postgres/open.js";
import { programsOf, type Version } from "./rolling-programs.js";

const [url, schema, version, identity] = process.argv.slice(2) as [string, string, Version, string];
const node = await createNode({
  store: openPostgres(url, { schema }),
  programs: programsOf(version),
  identity: { id: identity },
  env: "rolling",
  signals: true,
  timing: { shutdownGrace: "5s", lease: "5s", pollInterval: 100, housekeeping: 200 },
  concurrency: 8,
});
process.send?.({ ready: node.incarnation });
