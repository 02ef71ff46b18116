// The public surface: every name of every entry point of the package, with its members, comments and the types it mentions.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import {
  at,
  childrenOf,
  commentAbove,
  declarationOf,
  fileOf,
  find,
  isTree,
  nameOf,
  type Place,
  readModule,
  type Tree,
  withoutComments,
} from "./syntax.js";

const ROOT = join(import.meta.dirname, "../..");

export type Kind = "function" | "class" | "interface" | "type" | "const";

export interface Comment {
  /** Everything before the first tag. */
  readonly text: string;
  readonly defaults: string | null;
  readonly deprecated: string | null;
  readonly examples: readonly string[];
}

export interface Member {
  readonly name: string;
  readonly comment: Comment;
}

export interface Declared {
  readonly place: Place;
  readonly name: string;
  readonly kind: Kind;
  readonly isError: boolean;
  readonly comment: Comment;
  /** As declared, without comments, one text per overload. */
  readonly signatures: readonly string[];
  readonly members: readonly Member[];
  /** Declarations of this package that the signatures mention. */
  readonly mentions: readonly Place[];
}

export interface Entry {
  /** As imported: `holdfast/dag`. */
  readonly name: string;
  /** Of its pages: `dag`; `holdfast` for the main one. */
  readonly slug: string;
  /** The first comment of its file. */
  readonly about: string;
  readonly exported: readonly Declared[];
  /** Reached through what is exported, and exported by no entry point. */
  readonly behind: readonly Declared[];
}

const KINDS: Readonly<Record<string, Kind>> = {
  TSDeclareFunction: "function",
  FunctionDeclaration: "function",
  ClassDeclaration: "class",
  TSInterfaceDeclaration: "interface",
  TSTypeAliasDeclaration: "type",
  VariableDeclaration: "const",
};

/** Users pass these on and do not look inside: what their members mention is no part of the surface. */
const OPAQUE = ["Store", "Definition", "Startable", "MachineDefinition", "Graph", "State", "Task", "Strategy"];
/** Mentioned only where the library calls itself: parameters for tests, data behind values that functions make. */
const INNER = [
  ...["World", "Tracing", "TriggerSpec", "GraphNode", "Supervisor", "EmbeddedInternals", "LeaseStore"],
  ...["NamedStrategy", "Method", "MeasuredNode", "InstanceEvent", "NewInstanceEvent"],
];

const keyOf = ({ file, name }: Place) => `${file}#${name}`;

function commentOf(raw: string): Comment {
  const [text = "", ...tags] = raw.split(/(?<=^|\s)@(?=(?:default|deprecated|example)\b)/);
  const tagged = (tag: string) => tags.filter((one) => one.startsWith(tag)).map((one) => one.slice(tag.length).trim());
  return {
    text: text.trim(),
    defaults: tagged("default")[0] ?? null,
    deprecated: tagged("deprecated")[0] ?? null,
    examples: tagged("example").map((one) => one.replace(/^```ts\n|\n?```$/g, "")),
  };
}

/** What an editor completes after a dot: of interfaces, classes and object types, also joined by `&`. */
function memberTrees(node: Tree): Tree[] {
  if (node.type === "TSTypeLiteral") return node["members"] as Tree[];
  if (node.type === "TSIntersectionType") return (node["types"] as Tree[]).flatMap(memberTrees);
  if (node.type === "TSTypeAliasDeclaration") return memberTrees(at(node, "typeAnnotation"));
  const body = node["body"];
  return isTree(body) ? ((body["body"] as Tree[]) ?? []) : [];
}

const isHidden = (member: Tree) =>
  member["accessibility"] === "private" || (isTree(member["key"]) && at(member, "key").type === "PrivateIdentifier");

function memberName(member: Tree, text: string): string | null {
  const key = member["key"];
  if (!isTree(key) || member["kind"] === "constructor") return null;
  return member["computed"] ? `[${text.slice(key.start, key.end)}]` : nameOf(key);
}

/** The first comment of a name counts for its overloads, as in an editor. */
function ownMembers(place: Place): ReadonlyMap<string, string> {
  const { text, declared } = readModule(place.file);
  const found = new Map<string, string>();
  for (const member of declared.get(place.name)!.flatMap((one) => memberTrees(declarationOf(one)))) {
    const name = memberName(member, text);
    // `"~types"` and the like carry types only.
    if (name === null || name.startsWith("~") || isHidden(member)) continue;
    if (!found.get(name)) found.set(name, commentAbove(text, member.start));
  }
  return found;
}

/** Classes and interfaces that this one extends or implements: a member without a comment has theirs. */
function basesOf({ file, name }: Place): Place[] {
  const heads = readModule(file)
    .declared.get(name)!
    .map(declarationOf)
    .flatMap((one) => [
      one["superClass"],
      ...((one["extends"] as Tree[] | undefined) ?? []),
      ...((one["implements"] as Tree[] | undefined) ?? []),
    ])
    .filter(isTree);
  return heads.flatMap((head) => {
    const named = isTree(head["expression"]) ? at(head, "expression") : head;
    const base = named.type === "Identifier" ? find({ file, name: nameOf(named) }) : null;
    return base ? [base] : changedBase(head, file);
  });
}

/** The type in `Required<Type>` and `Omit<Type, …>`. */
function changedBase(head: Tree, file: string): Place[] {
  const given = isTree(head["typeArguments"]) ? (at(head, "typeArguments")["params"] as Tree[])[0] : undefined;
  const base = given?.type === "TSTypeReference" ? find({ file, name: nameOf(at(given, "typeName")) }) : null;
  return base ? [base] : [];
}

function inherited(place: Place, member: string): string {
  for (const base of basesOf(place)) {
    const comment = ownMembers(base).get(member) || inherited(base, member);
    if (comment) return comment;
  }
  return "";
}

function isErrorClass(place: Place): boolean {
  return place.name === "HoldfastError" || basesOf(place).some(isErrorClass);
}

/** Names of types and base classes, also those of other files by `import("…")`. The value after `typeof` is none. */
function mentionsOf(node: Tree, file: string): Place[] {
  const own: Place[] = [];
  const mention = (name: unknown, from = file) => {
    const place = typeof name === "string" ? find({ file: from, name }) : null;
    if (place) own.push(place);
  };
  if (node.type === "TSTypeReference") mention(at(node, "typeName")["name"]);
  if (node.type === "TSImportType" && isTree(node["qualifier"])) {
    const other = fileOf(file, node["source"] ?? node["argument"]);
    if (other) mention(at(node, "qualifier")["name"], other);
  }
  if (node.type === "TSInterfaceHeritage" || node.type === "TSClassImplements") mention(at(node, "expression")["name"]);
  if (node.type === "ClassDeclaration" && isTree(node["superClass"])) mention(at(node, "superClass")["name"]);
  if (isTree(node["key"]) && (isHidden(node) || node["kind"] === "constructor")) return own;
  return [...own, ...childrenOf(node).flatMap((child) => mentionsOf(child, file))];
}

function signatureOf(statement: Tree, text: string): string {
  const hidden = memberTrees(declarationOf(statement)).filter(isHidden);
  const parts: string[] = [];
  let from = declarationOf(statement).start;
  for (const { start, end } of hidden) {
    parts.push(text.slice(from, start));
    from = end;
  }
  return withoutComments([...parts, text.slice(from, statement.end)].join("")).replace(/^declare /, "");
}

function declaredAt(place: Place, name: string): Declared {
  const { text, declared } = readModule(place.file);
  const statements = declared.get(place.name)!;
  const declaration = declarationOf(statements[0]!);
  const kind = KINDS[declaration.type];
  if (!kind) throw new TypeError(`${name} is a ${declaration.type}, which the reference does not know`);
  const members = [...ownMembers(place)].map(([member, comment]) => ({
    name: member,
    comment: commentOf(comment || inherited(place, member)),
  }));
  const mentions = new Map(
    statements.flatMap((one) => mentionsOf(one, place.file)).map((one) => [keyOf(one), one] as const),
  );
  mentions.delete(keyOf(place));
  return {
    place,
    name,
    kind,
    isError: kind === "class" && isErrorClass(place),
    comment: commentOf(statements.map((one) => commentAbove(text, one.start)).find(Boolean) ?? ""),
    signatures: statements.map((one) => signatureOf(one, text)),
    members,
    mentions: [...mentions.values()],
  };
}

const byName = (a: Declared, b: Declared) => (a.name < b.name ? -1 : 1);

/** As `exports` of package.json. */
export type Doors = Readonly<Record<string, { readonly types: string }>>;

export const doorsOfPackage = (): Doors => JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")).exports;

/** `folder`: the emitted declarations. */
export function readSurface(folder: string, exports: Doors): Entry[] {
  const entries = Object.entries(exports).map(([path, { types }]) => {
    const file = join(folder, types.replace("./dist/", ""));
    const source = readFileSync(join(ROOT, types.replace("./dist/", "src/").replace(".d.ts", ".ts")), "utf8");
    const names = [...readModule(file).exported].map(([name, local]) => ({
      name,
      place: find({ file, name: local }),
    }));
    const about =
      /^(\/\/.*\n)+/
        .exec(source)?.[0]
        .replace(/^\/\/ ?/gm, "")
        .replaceAll("\n", " ")
        .trim() ?? "";
    return { name: join("holdfast", path), slug: path.slice(2) || "holdfast", about, names };
  });
  const exported = new Set(entries.flatMap(({ names }) => names.map(({ place }) => place && keyOf(place))));
  const seen = new Set<string>();
  return entries.map(({ names, ...entry }) => {
    const own = names.flatMap(({ name, place }) => (place ? [declaredAt(place, name)] : []));
    const behind: Declared[] = [];
    const look = (one: Declared) => {
      for (const place of OPAQUE.includes(one.place.name) ? [] : one.mentions) {
        if (exported.has(keyOf(place)) || seen.has(keyOf(place)) || INNER.includes(place.name)) continue;
        seen.add(keyOf(place));
        const found = declaredAt(place, place.name);
        behind.push(found);
        look(found);
      }
    };
    for (const one of own) look(one);
    return { ...entry, exported: own.sort(byName), behind: behind.sort(byName) };
  });
}
