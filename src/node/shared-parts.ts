// What the parts of a node share: its place, its settings, and the store and the telemetry under its name.

import { Modes } from "../engine/modes.js";
import type { NodeWakeups } from "../engine/node-wakeups.js";
import { codecs } from "../kernel/codec/codecs.js";
import { Wakeups } from "../kernel/wakeups.js";
import type { World } from "../kernel/world.js";
import type { Bus } from "../telemetry/bus.js";
import { type NodeEvents, type NodeInfo, nodeTelemetry, storeOfNode } from "./node-events.js";
import type { FoundNodeOptions, readNodeOptions } from "./node-options.js";

export interface NodeSelf {
  readonly world: World;
  readonly bus: Bus<NodeEvents>;
  readonly build: string;
  readonly who: NodeInfo;
}

export function sharedParts(
  options: FoundNodeOptions,
  read: ReturnType<typeof readNodeOptions>,
  { world, bus, build, who }: NodeSelf,
) {
  const { settings, alone, reclaim: reclaimer, statistics, env, stack } = read;
  const wakeups: NodeWakeups = new Wakeups();
  return {
    ...who,
    store: storeOfNode(options.store, who, bus, world),
    world,
    bus: nodeTelemetry(who, bus, options.logger || null),
    modes: new Modes(),
    wakeups,
    settings,
    env,
    stack,
    build,
    alone,
    reclaimer,
    statistics,
    codecs: codecs(options.codecs),
    crashLimit: settings.crashLimit,
    lookEveryMs: settings.pollMaxMs,
  };
}
