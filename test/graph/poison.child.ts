// A process that works on a node which kills it.

import { createNode } from "../../src/index.js";
import { postgres } from "../../src/store/postgres/index.js";
import { poison } from "./poison.js";

const [url, schema] = process.argv.slice(2) as [string, string];
const store = postgres(url, { schema });
await createNode({ store, programs: [poison], timing: { pollMax: 50, housekeeping: 20, presenceGrace: "100ms" } });
process.on("disconnect", () => process.exit(0));
