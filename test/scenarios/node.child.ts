// A node process of the scenarios.

import { Held, openNode, type Wish } from "./open-node.js";

const held = new Held();
process.on("message", ({ release }: { release: string }) => held.release(release));
process.on("disconnect", () => process.exit(0));
const tell = (event: string, detail: unknown = null) => process.connected && process.send!({ event, detail });
await openNode(JSON.parse(process.argv[2]!) as Wish, tell, held);
