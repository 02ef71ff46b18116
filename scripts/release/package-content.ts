// What the published package may hold: built files, pages and examples, within a budget; no sources, maps or tests.

export interface PackedFile {
  readonly path: string;
  readonly size: number;
}

/** As `npm pack --json` reports it. */
export interface Packed {
  readonly filename: string;
  readonly version: string;
  /** Of the archive, in bytes. */
  readonly size: number;
  readonly unpackedSize: number;
  readonly files: readonly PackedFile[];
}

const MB = 1_000_000;

/** Limits of the package. An installation also has the packages it needs: see `INSTALLED`. */
export const MOST = { archiveBytes: 2.2 * MB, unpackedBytes: 6.8 * MB, files: 1_500, pictureBytes: 100_000 };
/** Limits of `npm install holdfast` in an empty folder. */
export const INSTALLED = { packages: 20, bytes: 12 * MB };

const FORBIDDEN: readonly (readonly [what: string, RegExp])[] = [
  ["a source of the library", /^src\//],
  ["a source map", /\.map$/],
  ["a test of the library", /^(test|bench|chaos|soak|mutants|ecosystem|scripts|dashboard|api)\//],
  ["the simulator", /^dist\/simulator\//],
  ["a file of the maintainers", /^(CONTRIBUTING\.md|\.github|biome\.json|tsconfig|package-lock|vitest)/],
];

const NEEDED = ["LICENSE", "README.md", "CHANGELOG.md", "SECURITY.md", "llms.txt", "package.json", "docs/README.md"];
const BUILT = ["dist/dashboard/index.html", "dist/admin/openapi.json"];

interface Manifest {
  readonly bin: Readonly<Record<string, string>>;
  readonly exports: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

/** Files that `package.json` and the admin API load by their names. */
export function loadedFiles({ bin, exports }: Manifest): string[] {
  const named = [...Object.values(bin), ...Object.values(exports).flatMap((door) => Object.values(door))];
  return [...named.map((path) => path.replace(/^\.\//, "")), ...BUILT];
}

/** Sentences about what is there and must not be, or is missing. Empty: the files are good. */
export function fileProblems(files: readonly PackedFile[], loaded: readonly string[]): string[] {
  const problems: string[] = [];
  for (const [what, pattern] of FORBIDDEN) {
    const found = files.filter(({ path }) => pattern.test(path));
    if (found.length > 0) problems.push(`${found.length} × ${what}, such as ${found[0]!.path}`);
  }
  for (const { path, size } of files) {
    if (/\.(png|jpe?g|gif)$/.test(path) && size > MOST.pictureBytes) problems.push(`${path} has ${size} bytes`);
  }
  const there = new Set(files.map(({ path }) => path));
  for (const path of [...NEEDED, ...loaded]) if (!there.has(path)) problems.push(`${path} is missing`);
  return problems;
}

export function sizeProblems({ size, unpackedSize, files }: Packed): string[] {
  const figures = [
    ["the archive", size, MOST.archiveBytes],
    ["the unpacked package", unpackedSize, MOST.unpackedBytes],
    ["the number of files", files.length, MOST.files],
  ] as const;
  return figures.filter(([, is, most]) => is > most).map(([what, is, most]) => `${what} is ${is}, over ${most}`);
}
