// Finds who a node is and where it belongs: from its options, else from the environment variables HOLDFAST_*.

import { envName, type NameCheck, nodeName, stackName, versionName } from "../kernel/name.js";
import { type NodeMode, nodeMode } from "../kernel/node-mode.js";

/** Who a node is. */
export interface IdentityOptions {
  /** Identifies this process across restarts. A function is called once. @default HOLDFAST_NODE_ID, else generated */
  readonly id?: string | (() => string | Promise<string>);
  /** The name that people see. @default HOLDFAST_NODE_NAME, else `id` */
  readonly name?: string;
  /** The version of the code: a commit, an image digest. @default HOLDFAST_BUILD, else a hash of the code of the programs */
  readonly build?: string;
}

/** What may also come from the environment. */
export interface Identity extends Readonly<Partial<Record<"id" | "name" | "env" | "stack" | "build", string>>> {
  readonly mode?: NodeMode;
}

const VARIABLES: Readonly<Record<keyof Identity, { readonly variable: string; readonly check: NameCheck }>> = {
  id: { variable: "HOLDFAST_NODE_ID", check: nodeName },
  name: { variable: "HOLDFAST_NODE_NAME", check: nodeName },
  env: { variable: "HOLDFAST_ENV", check: envName },
  stack: { variable: "HOLDFAST_STACK", check: stackName },
  build: { variable: "HOLDFAST_BUILD", check: versionName },
  mode: { variable: "HOLDFAST_MODE", check: nodeMode },
};

type Environment = Readonly<Record<string, string | undefined>>;

type Given = { readonly [Field in keyof Identity]: Identity[Field] | undefined };

/** A given value wins over the environment. An empty variable counts as missing. */
export function fromEnvironment(given: Given, environment: Environment = process.env): Identity {
  const found: [string, string][] = [];
  for (const [field, { variable, check }] of Object.entries(VARIABLES)) {
    const value = given[field as keyof Identity];
    const said = environment[variable];
    if (value !== undefined) found.push([field, value]);
    else if (said) found.push([field, check(said, variable)]);
  }
  return Object.fromEntries(found);
}
