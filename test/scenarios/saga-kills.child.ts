// A process whose node stops for good at a point of each cancelled saga's clean-up, and waits for the kill.

import { openSagaNode } from "./saga.js";

const [url, schema] = process.argv.slice(2) as [string, string];
await openSagaNode(url, schema, (runId) => process.send!({ runId }));
process.send!({ ready: true });
process.on("disconnect", () => process.exit(0));
