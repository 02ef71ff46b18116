// An instance reached by names alone, without the machine's code: an event is stored, and a node with the code applies
// it.

import { omit } from "../kernel/omit.js";
import type { InstanceRecord } from "../store/contract/machine/machines.js";
import { InstanceUnknown } from "./errors.js";
import { type HistoryEntry, historyOf } from "./history.js";
import type { Accepted, InstanceTimer, SendLaterOptions } from "./instance.js";
import type { Instances } from "./instances.js";
import type { MachineEvent } from "./logic.js";
import { redact } from "./redact.js";
import { checkEvent, senderOf, storeForLater } from "./store-event.js";

/** The state of an instance, read without the code of its machine. */
export interface NamedState extends Omit<InstanceRecord, "value" | "key" | "redact"> {
  /** Its state value, as XState has it. */
  readonly value: unknown;
  /** Marked fields are redacted. */
  readonly context: unknown;
}

/** A handle on an instance whose machine is known by name only: a node applies what is sent. */
export class NamedInstance<Ev extends MachineEvent = MachineEvent> {
  /** The id of the instance. */
  readonly id: string;
  readonly #machine: string;
  readonly #instances: Instances;

  constructor(machine: string, id: string, instances: Instances) {
    this.id = id;
    this.#machine = machine;
    this.#instances = instances;
  }

  /** Stores the event; a node applies it. */
  async send(event: Ev, options: SendLaterOptions = {}): Promise<Accepted> {
    const { tx, delay } = options;
    checkEvent(event);
    const later = { machine: this.#machine, id: this.id, event, ...senderOf(options), tx, delay };
    await storeForLater(this.#instances, later);
    return { outcome: "accepted" };
  }

  /**
   * As of the last snapshot: the context may be older than the value if the machine does not write one at each event.
   */
  async state(): Promise<NamedState> {
    const { snapshot, redact: paths, ...rest } = await this.#loaded();
    const record = omit(rest, "snapshotSeq", "key");
    const { state } = this.#instances.codecs.decode(snapshot) as { state: { context: unknown } };
    return { ...record, value: JSON.parse(record.value) as unknown, context: redact(state.context, "context", paths) };
  }

  /** Its events in order, with marked fields redacted. */
  async history(options: { readonly after?: number; readonly limit?: number } = {}): Promise<readonly HistoryEntry[]> {
    const { key, redact: paths } = await this.#loaded();
    const { after = 0, limit = 1000 } = options;
    const { store, codecs } = this.#instances;
    return historyOf(await store.machines.events(key, { after, limit }), codecs, paths);
  }

  /** Its pending and failed timers. */
  async timers(): Promise<readonly InstanceTimer[]> {
    const { key } = await this.#loaded();
    const timers = await this.#instances.store.machines.timers(key);
    return timers.map((timer) => omit(timer, "id", "instanceKey", "payload", "tryAt"));
  }

  async #loaded() {
    const [loaded] = await this.#instances.store.machines.load([this.#instances.keyOf(this.#machine, this.id)]);
    if (!loaded) throw new InstanceUnknown(this.#machine, this.id);
    return loaded;
  }
}
