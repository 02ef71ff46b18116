// A node in a process of its own, with all of a DAG's programs or some of them.

import { createNode } from "../src/index.js";
import type { AnyDefinition } from "../src/program/definition.js";
import { postgres } from "../src/store/postgres/index.js";
import { handover, row } from "./dag-programs.js";

const [url, schema, part] = process.argv.slice(2) as [string, string, "row" | "first" | "second"];
const serves = (name: string) => (part === "first" ? name !== "handover::second" : name === "handover::second");
const some: AnyDefinition = {
  ...handover,
  serve: (environment) => handover.serve(environment).filter(({ name }) => serves(name)),
};
const programs = part === "row" ? [row] : [some];
const node = await createNode({
  store: postgres(url, { schema }),
  programs,
  identity: { id: `bench-${process.pid}` },
  concurrency: 250,
});
if (part === "row") {
  node.on("run.settled", ({ program, as }) => {
    if (program === row.name && as === "completed") process.send!({ ended: program });
  });
}
process.on("disconnect", () => process.exit(0));
process.send!({ ready: true });
