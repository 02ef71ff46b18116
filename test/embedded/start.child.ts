// A process that starts the embedded server, reports it on standard output and waits for a command to end.

import { startEmbedded } from "../../src/embedded/start.js";
import { systemWorld } from "../../src/kernel/system-world.js";
import type { ChildRequest } from "./child.js";

const request = JSON.parse(process.argv[2] ?? "{}") as ChildRequest;
const notices: string[] = [];
const world = {
  ...systemWorld(),
  faultPoint(name: string) {
    if (name === request.killAt) process.kill(process.pid, "SIGKILL");
  },
};
const server = await startEmbedded(
  { ...request.options, onNotice: (message) => notices.push(message) },
  { world, ...(request.refuge === undefined ? {} : { refuge: request.refuge }) },
);
const { url, port, dataDir, pid, reused } = server;
console.log(JSON.stringify({ url, port, dataDir, pid, reused, notices }));

process.stdin.on("data", async (command) => {
  if (command.toString().trim() === "stop") await server.stop();
  process.exit(0);
});
process.stdin.on("end", () => process.exit(0));
