// Traces: spans of starts, claims and steps, by the OpenTelemetry API of your application.
import { createNode, workflow } from "holdfast";
import { memoryStore } from "holdfast/memory";
import { openTelemetry } from "holdfast/otel";

const hello = workflow("hello", async (ctx) => ctx.step("greet", () => "hello"));
const node = await createNode({ store: memoryStore(), programs: [hello], flow: { tracing: openTelemetry() } });
console.log(await (await node.start(hello)).result());
await node.stop();
