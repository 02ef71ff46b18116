// `holdfast/admin`: the admin API and the dashboard, to mount in a server or to listen by itself.

export { type AdminClient, type AdminClientOptions, AdminRefused, adminClient } from "./client.js";

import { systemWorld } from "../kernel/system-world.js";
import type { Store } from "../store/contract/store.js";
import { createToken as create, type TokenOptions } from "./auth/authenticate.js";

/**
 * Creates an access token, for example the first one. The secret is returned here only.
 *
 * @example
 * ```ts
 * const secret = await createToken(store, { name: "deploy script", may: ["see", "operate"] });
 * ```
 */
export function createToken(store: Store, options: TokenOptions): Promise<string> {
  return create(store, systemWorld(), options);
}

export { ADDRESSES } from "./addresses.js";
export {
  type Auth,
  type AuthContext,
  type ProxyOptions,
  proxyHeader,
  type TokenOptions,
  tokens,
} from "./auth/authenticate.js";
export { type Dashboard, type DashboardOptions, dashboard, type ListenOptions } from "./dashboard.js";
export type { Permission, Principal } from "./permission.js";
export { PERMISSIONS } from "./permission.js";
