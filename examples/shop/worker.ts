// A worker of the shop. Start as many as you like; SIGTERM ends one in order, kill -9 loses nothing.

import { createNode } from "holdfast";
import { store } from "./database.js";
import { nightlyReport, order } from "./programs.js";

const node = await createNode({ store, programs: [order, nightlyReport] });
console.log(`worker ${node.identity} of build ${node.build} is up`);
