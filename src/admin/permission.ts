// The five permissions of the admin API, and the person or token that has them.

/**
 * `see`: metadata, figures, shapes, live updates. `read`: payloads and errors with stacks. `approve`: decides approvals addressed
 * to one of its groups. `operate`: starts, signals, stops and retries. `administer`: definitions, tokens, retention.
 */
export const PERMISSIONS = ["see", "read", "approve", "operate", "administer"] as const;
export type Permission = (typeof PERMISSIONS)[number];

export interface Principal {
  /** Recorded as `by` in journals and in the audit. */
  readonly id: string;
  readonly name?: string;
  readonly may: readonly Permission[];
  /** Omitted: every env. */
  readonly envs?: readonly string[];
  /** For approvals that are addressed to a group; omitted: every group. */
  readonly groups?: readonly string[];
}
