// The state of a development server: its processes, and why the code of the app cannot be loaded.

import { signal } from "@preact/signals";
import { request, session } from "./api.js";

export interface DevNode {
  readonly name: string;
  readonly incarnation: string | null;
  readonly state: string;
}

export interface DevState {
  readonly app: string;
  readonly problem: { readonly message: string; readonly frame: string } | null;
  readonly nodes: readonly DevNode[];
}

export const devState = signal<DevState | null>(null);
const EVERY_MS = 1_000;

/** Returns a function that ends it. */
export function watchDev(): () => void {
  if (!session.value?.dev) return () => {};
  const look = () => {
    if (document.visibilityState !== "visible") return;
    request("GET", "/dev", {}).then(
      (state) => {
        devState.value = state as DevState;
      },
      () => {},
    );
  };
  look();
  const timer = setInterval(look, EVERY_MS);
  return () => clearInterval(timer);
}

type Node = { readonly incarnation: string };

export function devNode({ incarnation }: Node): DevNode | undefined {
  return devState.value?.nodes.find((node) => node.incarnation === incarnation);
}

/** It is one of the server's own processes, also when it has died. */
export function isDevNode(node: Node): boolean {
  return devNode(node) !== undefined;
}
