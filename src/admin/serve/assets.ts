// Serves the built page: hashed assets for ever, index.html for every other address under the mount.

import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { NEVER_STORED, STORED_FOREVER } from "./headers.js";

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".ico": "image/x-icon",
  ".woff2": "font/woff2",
  ".json": "application/json",
};

/** Next to the bundled server in the package, or where the source tree builds it. */
const PLACES = ["../dashboard/", "../../../dist/dashboard/"];

export function builtPage(): string | null {
  const folders = PLACES.map((place) => fileURLToPath(new URL(place, import.meta.url)));
  return folders.find((folder) => existsSync(join(folder, "index.html"))) ?? null;
}

const MISSING =
  "<!doctype html><title>Holdfast</title><p>The dashboard was not built. The API is served under <code>api/v1</code>.";

/** Null: there is no such file. */
export async function assetAt(folder: string | null, path: string, basePath: string): Promise<Response | null> {
  const isAsset = path.startsWith("/assets/");
  if (folder === null) return isAsset ? null : html(MISSING);
  if (!isAsset) {
    const index = await readFile(join(folder, "index.html"), "utf8");
    // The mount's prefix, so that deep links find the assets.
    return html(index.replaceAll(/(src|href)="\.?\//g, `$1="${basePath}/`));
  }
  const file = normalize(join(folder, path));
  if (!file.startsWith(normalize(folder)) || !existsSync(file)) return null;
  const type = TYPES[extname(file)] ?? "application/octet-stream";
  return new Response(await readFile(file), { headers: { "content-type": type, ...STORED_FOREVER } });
}

function html(text: string): Response {
  return new Response(text, { headers: { "content-type": TYPES[".html"]!, ...NEVER_STORED } });
}
