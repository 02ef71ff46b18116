// When a node counts as gone: multiples of its own heartbeat and grace, the same in both stores.

/** Every heartbeat is a sign of life; a node that misses three counts as gone. */
export const MISSED_HEARTBEATS = 3;
/** For a node that did not state its heartbeat interval and how long its presence may be missing. */
export const DEFAULT_HEARTBEAT_MS = 5_000;
export const DEFAULT_GRACE_MS = 1_000;

// A node is gone when its presence has been missing for its grace and it has given no sign of life for its silence; both by its
// own registered settings, and only for a witness that has watched for as long.
/** The silence of a node: its grace, or this number of its heartbeats where that is longer. */
export const SILENT_HEARTBEATS = 2;
/** How much longer both are after a restart of the server, when the witness's own connection broke, or many vanished at once. */
export const TROUBLE_FACTOR = 3;
export const MANY_LOST = 2;
/** An expired lease counts only for a witness that has watched for this number of the holder's heartbeats. */
export const WATCHED_HEARTBEATS = 3.5;
/** For a holder that is not registered, or did not state its heartbeat interval. */
export const DEFAULT_WATCH_MS = 1_000;
