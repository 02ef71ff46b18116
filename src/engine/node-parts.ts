// What a node shares with its parts: where it stores, how it tells time, who it is. Each part picks what it needs.

import type { Codecs } from "../kernel/codec/codecs.js";
import type { Settings } from "../kernel/setting/setting-options.js";
import type { World } from "../kernel/world.js";
import type { Store } from "../store/contract/store.js";
import type { Telemetry } from "../telemetry/bus.js";
import type { EngineEvents } from "./events.js";
import type { Modes } from "./modes.js";

export interface NodeParts {
  readonly store: Store;
  readonly settings: Settings;
  readonly world: World;
  readonly bus: Telemetry<EngineEvents>;
  readonly modes: Modes;
  readonly env: string;
  readonly stack: string | null;
  /** Fresh at every start. */
  readonly incarnation: string;
  /** This node, as others see it. */
  readonly identity: string;
  readonly name: string;
  /** Which code this is: runs whose journal it does not fit are left to nodes of other builds. */
  readonly build: string;
  /** The only node of its env and stack: a claim is renewed once at most, and messages are found by housekeeping. */
  readonly alone: boolean;
  /** Whether every node reclaims, one at a time under a lease, or none. */
  readonly reclaimer: "every" | "one" | "off";
  /** Whether it takes its turn in counting figures. */
  readonly statistics: boolean;
}

/** What starting and reaching runs needs, on a node or a client. */
export interface ClientParts extends Pick<NodeParts, "store" | "world" | "env" | "stack"> {
  readonly codecs: Codecs;
}
