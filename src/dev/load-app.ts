// Loads the file of an app and finds the programs that it exports.

import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, extname } from "node:path";
import { pathToFileURL } from "node:url";
import type { AnyActor } from "../actor/actor.js";
import type { AppProblem } from "../admin/supervisor.js";
import type { AnyDefinition } from "../program/definition.js";
import { AppInvalid } from "./error.js";

const TYPESCRIPT = [".ts", ".mts", ".cts", ".tsx"];

type AnyProgram = AnyDefinition | AnyActor;

/** The programs among the exports, also those in lists; each once. */
export async function loadPrograms(file: string): Promise<readonly AnyProgram[]> {
  if (!existsSync(file)) throw new AppInvalid(`There is no file ${file}. \`npx holdfast init\` writes one.`);
  const exported = (await import(pathToFileURL(file).href)) as Readonly<Record<string, unknown>>;
  const programs = [...new Set(Object.values(exported).flat())].filter(isProgram);
  if (programs.length > 0) return programs;
  throw new AppInvalid(
    `${basename(file)} exports no program. Export one, such as: export const order = workflow("order", async (ctx) => …);`,
  );
}

function isProgram(value: unknown): value is AnyProgram {
  if (typeof value !== "object" || value === null) return false;
  const { kind, name, serve, expectations } = value as Record<string, unknown>;
  if (typeof kind !== "string" || typeof name !== "string") return false;
  return typeof serve === "function" || (kind === "actor" && typeof expectations === "object");
}

/** What Node needs on its command line to load the file: TypeScript goes through `tsx` where it is installed. */
export function loaderOf(file: string): string[] {
  const isThere = process.execArgv.some((one) => one.includes("tsx"));
  if (!TYPESCRIPT.includes(extname(file)) || isThere || !existsSync(file)) return [];
  try {
    return ["--import", pathToFileURL(createRequire(file).resolve("tsx")).href];
  } catch {
    if ((process.features as { readonly typescript?: unknown }).typescript) return [];
    throw new AppInvalid(
      `${basename(file)} is TypeScript. Install a loader (npm install --save-dev tsx), or use Node 22.18 or later.`,
    );
  }
}

/** The message and the place in the code, as far as they are known. */
export function problemOf(error: unknown): AppProblem {
  if (!(error instanceof Error)) return { message: String(error), frame: "" };
  const { name, message, stack = "" } = error;
  const isOurs = "code" in error && error.constructor.name === "AppInvalid";
  const frames = stack.split("\n").filter((line) => /^\s+at /.test(line) && !/node:internal|node_modules/.test(line));
  // A compile error has its excerpt of the code in front of the stack, or in its message.
  return { message: isOurs ? message : `${name}: ${message}`, frame: isOurs ? "" : frames.slice(0, 5).join("\n") };
}
