// A node's identity and place, from its options or, by default, its environment variables.

import { envName, type NameCheck, nodeName, stackName, versionName } from "../kernel/name.js";
import { type NodeMode, nodeMode } from "../kernel/node-mode.js";

export interface IdentityOptions {
  /** Identifies this process across restarts. Default: HOLDFAST_NODE_ID, otherwise generated. */
  readonly identity?: string | (() => string | Promise<string>);
  /** For people. Default: HOLDFAST_NODE_NAME, otherwise the identity. */
  readonly name?: string;
  /** The isolated namespace in the database. Default: HOLDFAST_ENV, otherwise `default`. */
  readonly env?: string;
  /** The cluster's name in the env. Default: HOLDFAST_STACK, otherwise none. */
  readonly stack?: string;
  /**
   * Identifies the code: a commit, an image digest. Default: HOLDFAST_BUILD, otherwise a hash of the programs'
   * functions.
   */
  readonly build?: string;
  /**
   * What the node does with its programs. A mode stored for its identity takes precedence. Default: HOLDFAST_MODE,
   * otherwise full.
   */
  readonly mode?: NodeMode;
}

export interface Identity {
  readonly identity?: string;
  readonly name?: string;
  readonly env?: string;
  readonly stack?: string;
  readonly build?: string;
  readonly mode?: NodeMode;
}

const VARIABLES: Readonly<Record<keyof Identity, { readonly variable: string; readonly check: NameCheck }>> = {
  identity: { variable: "HOLDFAST_NODE_ID", check: nodeName },
  name: { variable: "HOLDFAST_NODE_NAME", check: nodeName },
  env: { variable: "HOLDFAST_ENV", check: envName },
  stack: { variable: "HOLDFAST_STACK", check: stackName },
  build: { variable: "HOLDFAST_BUILD", check: versionName },
  mode: { variable: "HOLDFAST_MODE", check: nodeMode },
};

type Environment = Readonly<Record<string, string | undefined>>;

/** Options take precedence over the environment; an empty variable counts as unset. */
export async function findIdentity(
  options: IdentityOptions,
  environment: Environment = process.env,
): Promise<Identity> {
  const { identity } = options;
  const given = typeof identity === "function" ? nodeName(await identity(), "identity") : identity;
  return fromEnvironment({ ...options, ...(given !== undefined && { identity: given }) } as Identity, environment);
}

export function fromEnvironment(options: Identity, environment: Environment = process.env): Identity {
  const found: [string, string][] = [];
  for (const [field, { variable, check }] of Object.entries(VARIABLES)) {
    const given = options[field as keyof Identity];
    const said = environment[variable];
    if (given !== undefined) found.push([field, given]);
    else if (said) found.push([field, check(said, variable)]);
  }
  return Object.fromEntries(found);
}
