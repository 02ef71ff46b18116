// The keys of `holdfast dev`: open the dashboard; kill, freeze or restart a node; quit.

import { spawn } from "node:child_process";
import type { Supervisor } from "../../admin/supervisor.js";
import type { ScreenView } from "./screen-view.js";

const CTRL_C = "\x03";
const VERBS = { k: "kill", f: "freeze", r: "restart" } as const;

export interface KeyParts {
  readonly view: ScreenView;
  readonly supervisor: () => Supervisor | null;
  readonly dashboard: () => string | null;
  readonly quit: () => void;
}

/** `k`, `f` and `r` are followed by the last letter of a node's name. */
export function keyHandler({ view, supervisor, dashboard, quit }: KeyParts): (key: string) => void {
  let verb: "kill" | "freeze" | "restart" | null = null;
  return (key) => {
    if (key === "q" || key === CTRL_C) return quit();
    const chosen = verb;
    const nodes = supervisor()?.state().nodes ?? [];
    verb = chosen === null && key in VERBS ? VERBS[key as keyof typeof VERBS] : null;
    view.ask(verb === null ? null : `${verb} which node? ${nodes.map(({ name }) => name.at(5)).join(" ")}`);
    if (chosen !== null) {
      const node = nodes.find(({ name }) => name.startsWith(`node-${key}`));
      if (node?.incarnation) supervisor()?.[chosen](node.incarnation);
    } else if (key === "o") open(dashboard());
  };
}

const OPENERS: Readonly<Record<string, readonly string[]>> = {
  darwin: ["open"],
  win32: ["cmd", "/c", "start", ""],
};

/** The page is for people: when no browser can be started, its address is on the screen. */
function open(url: string | null): void {
  if (url === null) return;
  const [command, ...rest] = OPENERS[process.platform] ?? ["xdg-open"];
  spawn(command!, [...rest, url], { stdio: "ignore", detached: true })
    .on("error", () => {})
    .unref();
}
