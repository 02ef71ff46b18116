// Who sends a request: the host application's own function, tokens of the store, or a proxy that is believed.

import { timingSafeEqual } from "node:crypto";
import type { World } from "../../kernel/world.js";
import type { Store } from "../../store/contract/store.js";
import type { Permission, Principal } from "../permission.js";
import { PERMISSIONS } from "../permission.js";
import { ApiProblem } from "../problem.js";
import { hashOf, newSecret } from "./token-secret.js";

/** What an `auth` function gets next to the request. */
export interface AuthContext {
  /** The store of the dashboard. */
  readonly store: Store;
  /** The clock of the process. */
  readonly world: World;
  /** Null: the framework did not say. */
  readonly remoteAddress: string | null;
}

/** Null: the request names no known caller, and is refused. */
export type Auth = (request: Request, context: AuthContext) => Principal | null | Promise<Principal | null>;

/** Without `auth`, on loopback only: the person at this machine. */
export const LOCAL: Principal = { id: "local", name: "local", may: PERMISSIONS };

const FAILURES = 10;
const WINDOW_MS = 60_000;

/** Accepts tokens of the store, in the header `Authorization: Bearer hf_…`. After ten failures in a minute an address has to wait. */
export function tokens(): Auth {
  const failures = new Map<string, number[]>();
  return async (request, { store, world, remoteAddress }) => {
    const secret = /^Bearer (hf_[\w-]{20,100})$/.exec(request.headers.get("authorization") ?? "")?.[1];
    if (secret === undefined) return null;
    const from = remoteAddress ?? "unknown";
    const now = world.monotonicNow();
    const recent = (failures.get(from) ?? []).filter((at) => at > now - WINDOW_MS);
    if (recent.length >= FAILURES) {
      throw new ApiProblem(429, "TOO_MANY_FAILURES", "Too many unknown tokens came from this address. Wait a minute.");
    }
    const token = await store.tokens.use(hashOf(secret));
    if (!token) {
      failures.set(from, [...recent, now]);
      return null;
    }
    const { id, name, may, envs, groups } = token;
    return {
      id: `token:${id}`,
      name,
      may: may as readonly Permission[],
      ...(envs && { envs }),
      ...(groups && { groups }),
    };
  };
}

/** Options of `proxyHeader`. */
export interface ProxyOptions {
  /** The header with the user's name. */
  readonly user: string;
  /** The header with the user's groups, separated by commas. */
  readonly groups?: string;
  /** The header that holds the shared secret, and the secret. */
  readonly secret: { readonly header: string; readonly value: string };
  /** Addresses of the proxy. */
  readonly from: readonly string[];
  /** The permissions of a user with these groups. */
  readonly may: (user: string, groups: readonly string[]) => readonly Permission[];
}

/** Believes a proxy in front that has the shared secret and one of the listed addresses. */
export function proxyHeader({ user, groups, secret, from, may }: ProxyOptions): Auth {
  return (request, { remoteAddress }) => {
    const id = request.headers.get(user);
    const shown = request.headers.get(secret.header) ?? "";
    if (id === null || remoteAddress === null || !from.includes(remoteAddress)) return null;
    if (!isSame(shown, secret.value)) return null;
    const list = groups === undefined ? [] : (request.headers.get(groups) ?? "").split(",");
    const named = list.map((one) => one.trim()).filter((one) => one !== "");
    return { id, name: id, may: may(id, named), groups: named };
  };
}

/** Hashes first: the comparison then takes as long for every length. */
function isSame(a: string, b: string): boolean {
  return timingSafeEqual(Buffer.from(hashOf(a)), Buffer.from(hashOf(b)));
}

/** Options of `createToken`. */
export interface TokenOptions {
  /** What the token is for, as lists show it. */
  readonly name: string;
  /** The permissions of the token. */
  readonly may: readonly Permission[];
  /** The envs it may see. @default every env */
  readonly envs?: readonly string[];
  /** The groups whose approvals it may decide. @default every group */
  readonly groups?: readonly string[];
  /** Milliseconds until it expires. @default never */
  readonly expiresInMs?: number;
  /** Who creates it, for the audit. @default setup */
  readonly by?: string;
}

/** Creates a token, for example the first one. The secret is returned here only. */
export async function createToken(
  store: Store,
  world: World,
  { name, may, envs, groups, expiresInMs, by = "setup" }: TokenOptions,
): Promise<string> {
  const { secret, hash } = newSecret(world);
  const limits = { envs: envs ?? null, groups: groups ?? null, expiresInMs: expiresInMs ?? null };
  await store.tokens.create({ id: world.id(), hash, name, may, by, ...limits });
  return secret;
}
