// The five permissions of the admin API, and the person or token that has them.

/**
 * `see`: metadata, figures, shapes, live updates. `read`: payloads and errors with stacks. `approve`: decides approvals addressed
 * to one of its groups. `operate`: starts, signals, stops and retries. `administer`: definitions, tokens, retention.
 */
export const PERMISSIONS = ["see", "read", "approve", "operate", "administer"] as const;
/** A permission of the admin API; `PERMISSIONS` says what each allows. */
export type Permission = (typeof PERMISSIONS)[number];

/** The person or token that sends a request, and what it may do. */
export interface Principal {
  /** Recorded as `by` in journals and in the audit. */
  readonly id: string;
  /** For people who read the audit. @default the id */
  readonly name?: string;
  /** Its permissions. */
  readonly may: readonly Permission[];
  /** Omitted: every env. */
  readonly envs?: readonly string[];
  /** For approvals that are addressed to a group; omitted: every group. */
  readonly groups?: readonly string[];
}
