// Access tokens of the admin API: only their hashes are stored.

export interface NewToken {
  readonly id: string;
  /** SHA-256 of the secret, in hex. */
  readonly hash: string;
  readonly name: string;
  readonly may: readonly string[];
  /** Null: every env. */
  readonly envs: readonly string[] | null;
  /** Null: approvals of every group. */
  readonly groups: readonly string[] | null;
  readonly by: string;
  /** Null: it does not expire. */
  readonly expiresInMs: number | null;
}

export interface TokenRecord extends Omit<NewToken, "hash" | "expiresInMs"> {
  readonly createdAt: number;
  readonly expiresAt: number | null;
  readonly lastUsedAt: number | null;
  readonly revokedAt: number | null;
}

/** The last use is stored at most this often. */
export const TOKEN_USE_MS = 60_000;

export interface TokenStore {
  /** Storing the same id again changes nothing. */
  create(token: NewToken): Promise<TokenRecord>;
  /** The token with this hash, if it is neither revoked nor expired; notes that it was used. */
  use(hash: string): Promise<TokenRecord | null>;
  /** Newest first. */
  list(): Promise<readonly TokenRecord[]>;
  /** False: there is no such token. Revoking again changes nothing. */
  revoke(id: string): Promise<boolean>;
}
