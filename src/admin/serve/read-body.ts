// Reads a JSON body of bounded size and depth.

import { ApiProblem } from "../problem.js";

const MOST_BYTES = 1024 * 1024;
const MOST_DEPTH = 32;

export async function readBody(request: Request): Promise<Record<string, unknown>> {
  const text = await readText(request);
  if (text.trim() === "") return {};
  const value = parsed(text);
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw invalid("must be a JSON object");
  if (depthOf(value) > MOST_DEPTH) throw invalid(`is nested deeper than ${MOST_DEPTH} levels`);
  return value as Record<string, unknown>;
}

async function readText(request: Request): Promise<string> {
  if (!request.body) return "";
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of request.body as unknown as AsyncIterable<Uint8Array>) {
    bytes += chunk.byteLength;
    if (bytes > MOST_BYTES) throw new ApiProblem(413, "BODY_TOO_LARGE", `The body is larger than ${MOST_BYTES} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw invalid("is not valid JSON");
  }
}

function depthOf(value: unknown, depth = 0): number {
  if (typeof value !== "object" || value === null || depth > MOST_DEPTH) return depth;
  return Math.max(depth + 1, ...Object.values(value).map((item) => depthOf(item, depth + 1)));
}

function invalid(why: string): ApiProblem {
  return new ApiProblem(422, "INVALID_INPUT", `The body ${why}.`);
}
