// Watches the folders of an app, and calls back when one of its source files has changed.

import { type FSWatcher, readdirSync, watch } from "node:fs";
import { dirname, join } from "node:path";
import type { World } from "../kernel/world.js";

const SOURCE = /\.([mc]?[jt]sx?|json)$/;
const LEFT_OUT = /^(node_modules|dist|coverage|\..*)$/;
/** An editor writes a file in several steps. */
const QUIET_MS = 150;
/** The system has a limit of its own. */
const MOST_FOLDERS = 200;

/** Returns a function that ends it. Node's own recursive watching would also watch every file of node_modules. */
export function watchFiles(app: string, world: World, onChange: (file: string) => void): () => void {
  const root = dirname(app);
  const watchers = new Map<string, FSWatcher>();
  let cancel = () => {};
  const look = () => {
    for (const folder of foldersIn(root).slice(0, MOST_FOLDERS)) {
      if (watchers.has(folder)) continue;
      const watcher = watch(folder, (_, file) => hear(file));
      // A removed folder ends its watcher, not the server.
      watcher.on("error", () => watchers.delete(folder));
      watchers.set(folder, watcher);
    }
  };
  const hear = (file: string | null) => {
    if (file === null || LEFT_OUT.test(file)) return;
    // Perhaps a new folder.
    if (!file.includes(".")) look();
    if (!SOURCE.test(file)) return;
    cancel();
    cancel = world.after(QUIET_MS, () => onChange(file));
  };
  look();
  return () => {
    cancel();
    for (const watcher of watchers.values()) watcher.close();
  };
}

function foldersIn(root: string): string[] {
  try {
    const inside = readdirSync(root, { withFileTypes: true }).filter((one) => one.isDirectory());
    return [
      root,
      ...inside.filter(({ name }) => !LEFT_OUT.test(name)).flatMap(({ name }) => foldersIn(join(root, name))),
    ];
  } catch {
    return []; // removed meanwhile, or not ours to read
  }
}
