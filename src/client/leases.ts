// The named leases of an env, as any process sees them.

import type { LeaseRecord } from "../store/contract/lease/leases.js";
import type { Store } from "../store/contract/store.js";
import type { ViewPage } from "../store/contract/view/views.js";

/** Lists the named leases of an env. */
export interface LeaseList {
  /** By key. `prefix`: only keys that begin with it. Tokens are not shown. */
  list(options?: {
    readonly prefix?: string;
    readonly limit?: number;
    readonly after?: string;
  }): Promise<ViewPage<Omit<LeaseRecord, "token">>>;
}

const PAGE = 100;

export function leasesIn({ views }: Store, env: string): LeaseList {
  return {
    list: ({ prefix, limit = PAGE, after } = {}) =>
      views.leases({ env, limit, ...(prefix !== undefined && { prefix }), ...(after !== undefined && { after }) }),
  };
}
