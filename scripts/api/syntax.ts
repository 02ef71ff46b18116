// Files of declarations as trees: what each declares, imports and exports, and the comment above each part.

import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { parseAst } from "vitest/node";

/** A node of the syntax tree (ESTree): its type, where it is, and fields that differ by type. */
export interface Tree {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [field: string]: unknown;
}

/** A declared name, by the file that declares it. */
export interface Place {
  readonly file: string;
  readonly name: string;
}

export interface Module {
  readonly file: string;
  readonly text: string;
  /** Several trees of one name are overloads. Each is the whole statement, with `export`. */
  readonly declared: ReadonlyMap<string, readonly Tree[]>;
  /** Names that mean something of another file, as imported or as passed through. */
  readonly imported: ReadonlyMap<string, Place>;
  /** Exported names, and what they are called in this file. */
  readonly exported: ReadonlyMap<string, string>;
}

const modules = new Map<string, Module>();

export function isTree(value: unknown): value is Tree {
  return typeof (value as Tree | null)?.type === "string";
}

export function childrenOf(node: Tree): Tree[] {
  return Object.values(node).flat().filter(isTree);
}

export const at = (node: Tree, field: string) => node[field] as Tree;
export const nameOf = (node: Tree) => (node["name"] ?? node["value"]) as string;

/** The part of a statement that declares: without `export`. */
export function declarationOf(statement: Tree): Tree {
  return statement.type.startsWith("Export") && isTree(statement["declaration"])
    ? at(statement, "declaration")
    : statement;
}

function declaredNames(declaration: Tree): string[] {
  if (declaration.type === "VariableDeclaration") {
    return (declaration["declarations"] as Tree[]).map((one) => nameOf(at(one, "id")));
  }
  return isTree(declaration["id"]) ? [nameOf(at(declaration, "id"))] : [];
}

/** Null for packages. */
export function fileOf(from: string, source: unknown): string | null {
  const literal = isTree(source) && isTree(source["literal"]) ? source["literal"] : source;
  const path = isTree(literal) ? nameOf(literal) : "";
  return path.startsWith(".") ? resolve(dirname(from), path.replace(/\.js$/, ".d.ts")) : null;
}

export function readModule(file: string): Module {
  const known = modules.get(file);
  if (known) return known;
  const text = readFileSync(file, "utf8");
  const declared = new Map<string, Tree[]>();
  const imported = new Map<string, Place>();
  const exported = new Map<string, string>();
  for (const statement of childrenOf(parseAst(text, { lang: "dts" }) as unknown as Tree)) {
    const other = fileOf(file, statement["source"]);
    for (const one of (statement["specifiers"] as Tree[] | undefined) ?? []) {
      if (one.type === "ImportSpecifier" && other) {
        imported.set(nameOf(at(one, "local")), { file: other, name: nameOf(at(one, "imported")) });
      }
      if (one.type !== "ExportSpecifier") continue;
      const [local, name] = [nameOf(at(one, "local")), nameOf(at(one, "exported"))];
      if (other) imported.set(name, { file: other, name: local });
      exported.set(name, other ? name : local);
    }
    const declaration = declarationOf(statement);
    for (const name of declaredNames(declaration)) {
      declared.set(name, [...(declared.get(name) ?? []), statement]);
      if (declaration !== statement) exported.set(name, name);
    }
  }
  const module = { file, text, declared, imported, exported };
  modules.set(file, module);
  return module;
}

/** Where a name of this file is declared; null when a package or the language declares it. */
export function find({ file, name }: Place): Place | null {
  const { declared, imported } = readModule(file);
  if (declared.has(name)) return { file, name };
  const from = imported.get(name);
  return from ? find({ ...from, name: readModule(from.file).exported.get(from.name) ?? from.name }) : null;
}

/** The comment that an editor shows for the part that begins here; empty without one. */
export function commentAbove(text: string, start: number): string {
  const before = text
    .slice(0, start)
    .replace(/(?:\n[ \t]*\/\/[^\n]*)+\s*$/, "")
    .trimEnd();
  if (!before.endsWith("*/")) return "";
  const comment = before.slice(before.lastIndexOf("/*"));
  if (!comment.startsWith("/**")) return "";
  return comment
    .slice(3, -2)
    .split("\n")
    .map((line) => line.replace(/^\s*\* ?/, "").trimEnd())
    .join("\n")
    .trim();
}

/** Without comments; what looks like one inside a string stays. */
export function withoutComments(text: string): string {
  return text
    .replace(/("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`)|\/\*[\s\S]*?\*\/|\/\/[^\n]*/g, "$1")
    .replace(/^\s*\n/gm, "");
}
