// One tool of the MCP server as a value: its name, what it needs, its input, and what it asks of the admin API.

import type * as z from "zod";
import type { Permission } from "../../admin/index.js";
import { RunUnknown } from "../../client/run-handle.js";
import type { World } from "../../kernel/world.js";
import { RunAmbiguous } from "../error.js";
import { number, string } from "../library/mcp.js";
import type { Place } from "./place.js";

/** What a tool works with. */
export interface ToolCall {
  readonly place: Place;
  readonly world: World;
}

export interface Tool<In extends z.ZodType = z.ZodType> {
  readonly name: string;
  /** For the model: what it returns, and when to use it. */
  readonly says: string;
  /** Any one of these is enough. */
  readonly needs: readonly Permission[];
  /** Absent: it only reads. `ends`: it stops or decides something for good. */
  readonly changes?: "ends" | "again";
  readonly input: In;
  call(call: ToolCall, input: z.output<In>): Promise<unknown>;
}

/** Keeps the types of the input inside the tool. */
export function defineTool<In extends z.ZodType>(tool: Tool<In>): Tool {
  return tool as unknown as Tool;
}

/** Few rows: a model reads all of them. */
export const page = {
  limit: number().int().min(1).max(50).default(20).describe("rows, up to 50"),
  before: string().max(100).optional().describe("`next` of the previous page"),
};
export const run = string().min(8).max(36).describe("a run id, or its first 8 or more characters");
export const note = string().max(1_500).optional().describe("why; kept in the audit");

/** The full id of a run that is named by its beginning. */
export async function runId({ place: { api, env } }: ToolCall, beginning: string): Promise<string> {
  const { rows } = await api.call("runs.find", { id: beginning, ...(env !== undefined && { env }) });
  const [found, second] = rows;
  if (!found) throw new RunUnknown(`that begins with ${beginning}`);
  if (second) throw new RunAmbiguous(beginning, [found.id, second.id]);
  return found.id;
}
