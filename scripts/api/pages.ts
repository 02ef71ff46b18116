// The API reference: one page per entry point and a page that lists them, from the comments in the source.

import { wrapped } from "../describe-tables.js";
import type { Formatted } from "./report.js";
import type { Comment, Declared, Entry } from "./surface.js";

const SECTIONS: readonly (readonly [title: string, is: (one: Declared) => boolean])[] = [
  ["Functions", ({ kind }) => kind === "function"],
  ["Classes", ({ kind, isError }) => kind === "class" && !isError],
  ["Constants", ({ kind }) => kind === "const"],
  ["Types", ({ kind }) => kind === "interface" || kind === "type"],
  ["Errors", ({ isError }) => isError],
];
const BEHIND = "Types behind these";

/** Headings of a function and of a type whose names differ in case only are different. */
const plainHeading = ({ kind, name }: Declared) => (kind === "function" ? `${name}()` : `${kind} ${name}`);

/** An alias without a comment is a calculation with types: the report has it. */
const shownBehind = ({ behind }: Entry) => behind.filter(({ kind, comment }) => kind !== "type" || comment.text !== "");

/** Of two things with one name on a page, the second is named with its folder. */
function headingsOf(entry: Entry): ReadonlyMap<Declared, string> {
  const taken = new Set<string>();
  const headings = new Map<Declared, string>();
  for (const one of [...entry.exported, ...shownBehind(entry)]) {
    const plain = plainHeading(one);
    const heading = taken.has(plain)
      ? `${plain} (${one.place.file.split("/").slice(-2).join("/").slice(0, -5)})`
      : plain;
    taken.add(heading);
    headings.set(one, heading);
  }
  return headings;
}

const anchorOf = (heading: string) =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-");

/** Lines of prose: a paragraph may be longer than a line of the page. */
const paragraph = (text: string) => wrapped(text).replace(/\n {2}/g, "\n");

/** Text of a comment in the form of the page: one line per paragraph or item of a list, `{@link X}` as code. */
function prose(text: string): string[] {
  return text
    .replace(/\{@link (\w+)\}/g, "`$1`")
    .split(/\n\n|\n(?=- )/)
    .map((part) => part.replace(/\s+/g, " ").trim())
    .filter(Boolean);
}

/** Items of a list follow each other without a blank line. */
const joined = (parts: readonly string[]) =>
  parts.map((one) => (one.startsWith("- ") ? wrapped(one) : `${paragraph(one)}\n`)).join("\n");

function described({ text, defaults, deprecated }: Comment): string {
  const parts = [
    deprecated === null ? "" : `**Deprecated:** ${deprecated}`,
    ...prose(text),
    defaults === null ? "" : `Default: ${prose(defaults).join(" ")}${/[.!?]$/.test(defaults) ? "" : "."}`,
  ];
  return parts.filter(Boolean).join(" ");
}

/** Links by the page and heading of each declaration. */
type Links = ReadonlyMap<string, { readonly slug: string; readonly anchor: string }>;

const keyOf = ({ place: { file, name } }: Pick<Declared, "place">) => `${file}#${name}`;

export function linksOf(entries: readonly Entry[]): Links {
  const links = new Map<string, { slug: string; anchor: string }>();
  for (const entry of entries) {
    for (const [one, heading] of headingsOf(entry)) {
      if (!links.has(keyOf(one))) links.set(keyOf(one), { slug: entry.slug, anchor: anchorOf(heading) });
    }
  }
  return links;
}

interface Surroundings {
  readonly signatures: Formatted;
  readonly links: Links;
  readonly slug: string;
}

function part(one: Declared, heading: string, { signatures, links, slug }: Surroundings): string {
  const { comment, members, mentions } = one;
  const text = [`### ${heading}\n`];
  if (comment.deprecated !== null) text.push(`${paragraph(`**Deprecated:** ${comment.deprecated}`)}\n`);
  if (comment.text !== "") text.push(`${joined(prose(comment.text)).trimEnd()}\n`);
  text.push(`\`\`\`typescript\n${signatures.get(one)!.join("\n\n")}\n\`\`\`\n`);
  for (const example of comment.examples) text.push(`\`\`\`ts\n${example}\n\`\`\`\n`);
  const items = members.filter((member) => described(member.comment) !== "");
  if (items.length > 0) {
    text.push(`${items.map((it) => wrapped(`- **\`${it.name}\`**: ${described(it.comment)}`)).join("\n")}\n`);
  }
  const known = mentions.flatMap((place) => {
    const link = links.get(keyOf({ place }));
    if (!link) return [];
    return [`[${place.name}](${link.slug === slug ? "" : `${link.slug}.md`}#${link.anchor})`];
  });
  if (known.length > 0) text.push(`${paragraph(`Mentions ${known.sort().join(", ")}.`)}\n`);
  return text.join("\n");
}

export function pageOf(entry: Entry, signatures: Formatted, links: Links): string {
  const { name, slug, about, exported } = entry;
  const headings = headingsOf(entry);
  const sections: (readonly [string, readonly Declared[]])[] = SECTIONS.map(([title, is]) => [
    title,
    exported.filter(is),
  ]);
  const text = [`# ${name}\n`, `${paragraph(about)}\n`, "Generated from the source by `npm run api`.\n"];
  for (const [title, list] of sections) {
    if (list.length === 0) continue;
    const names = list.map((one) => `[${one.name}](#${anchorOf(headings.get(one)!)})`).join(", ");
    text.push(wrapped(`- **${title}**: ${names}`));
  }
  text.push("");
  for (const [title, list] of [...sections, [BEHIND, shownBehind(entry)] as const]) {
    if (list.length === 0) continue;
    text.push(`## ${title}\n`);
    for (const one of list) text.push(part(one, headings.get(one)!, { signatures, links, slug }));
  }
  return `${text.join("\n").trimEnd()}\n`;
}

export function indexOf(entries: readonly Entry[]): string {
  const items = entries.map(({ name, slug, about, exported }) => {
    const said = about.replace(/^(Public )?[Ee]xports of `[^`]+`: ?|^`[^`]+`: ?/, "");
    return wrapped(`- [\`${name}\`](${slug}.md), ${exported.length} names: ${said}`);
  });
  return `# API reference

Every public name of the package by its entry point, from the comments in the source, as an editor shows them. What these names mean
together is in the [documentation](../README.md). Names that are listed here follow [the rules for versions](../support.md).

${items.join("\n")}
`;
}
