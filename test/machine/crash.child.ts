// A node process with two machines whose timers are due, for the test that kills such processes while they fire.

import { createNode } from "../../src/node/create-node.js";
import { openPostgres } from "../../src/store/postgres/open.js";
import { crashMachines } from "./crash-machines.js";

const [url, schema, identity] = process.argv.slice(2) as [string, string, string];
const node = await createNode({
  store: openPostgres(url, { schema }),
  programs: crashMachines(),
  identity: { id: identity },
  timing: { presenceGrace: "300ms", housekeeping: "200ms", pollMax: "500ms", lease: "3s" },
});
process.on("message", async () => {
  await node.stop({ grace: "1s" });
  process.exit(0);
});
process.on("disconnect", () => process.exit(0));
process.send!("ready");
