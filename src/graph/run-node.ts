// Runs each kind of node.

import { payloadHash } from "../kernel/codec/canonical.js";
import { decodeError } from "../kernel/codec/recorded-error.js";
import { parseInputNow } from "../program/parse-input.js";
import { type Answer, ApprovalCall, type Question } from "../replay/approval-call.js";
import { callId } from "../replay/recorded.js";
import type { StepInfo } from "../replay/step-call.js";
import { PermanentError } from "../replay/step-error.js";
import { WaitCall } from "../replay/wait-call.js";
import { AtBreakpoint } from "./breakpoint.js";
import { countProgress, enter, type FrameRecord, keep, leave, type NodeRecord } from "./fold.js";
import { NeedsPeople, PlanChanged } from "./needs-people.js";
import { askingCall, type Tools } from "./node/interrupt.js";
import { AttemptStore } from "./node/long-term-store.js";
import { NodeCache } from "./node/node-cache.js";
import type { Interrupts } from "./node/question.js";
import { cacheSpace } from "./node/spaces.js";
import type { ItemContext, NodeContext } from "./node-context.js";
import type { NodeVisit, Walker } from "./node-visit.js";
import type { AnyNode, ApprovalNode, FunctionNode, MapNode, ParallelNode, SubgraphNode, WaitNode } from "./plan.js";
import { frameId, placeIn } from "./position.js";
import type { Fields } from "./reducer.js";

// biome-ignore lint/suspicious/noExplicitAny: over any state
type Any = any;

/**
 * A node's work comes first, then one entry that records its end. A failure in between is recorded as the node's own.
 */
export async function runNode(run: Walker, spec: AnyNode, nodeVisit: NodeVisit): Promise<NodeRecord> {
  if (spec.kind === "function") return runFunction(run, spec, nodeVisit);
  // The first entry of such a node is not its own, so the beginning cannot travel with it.
  if (spec.kind !== "map") run.parts.beginning.write();
  let record: () => NodeRecord;
  try {
    record = await work(run, spec, nodeVisit);
  } catch (error) {
    if (error instanceof NeedsPeople || error instanceof AtBreakpoint) throw error; // not a failure of the node, and no edge leads out of it
    record = () => {
      throw error;
    };
  }
  return run.close(nodeVisit, record);
}

function work(run: Walker, spec: Exclude<AnyNode, FunctionNode<Any>>, nodeVisit: NodeVisit): Promise<() => NodeRecord> {
  switch (spec.kind) {
    case "map":
      return runMap(run, spec, nodeVisit);
    case "parallel":
      return runBranches(run, spec, nodeVisit);
    case "subgraph":
      return runSubgraph(run, spec, nodeVisit);
    case "approval":
      return askPerson(run, spec, nodeVisit);
    case "wait":
      return awaitSignal(run, spec, nodeVisit);
  }
}

function runFunction(run: Walker, spec: FunctionNode<Any>, nodeVisit: NodeVisit): Promise<NodeRecord> {
  const { rules } = spec;
  return askingCall(run, "node", { nodeVisit, rules }, async (info, tools) => {
    const cache = cacheOf(run, spec, nodeVisit);
    // An answer of a person counts for its run, and a node that was there when the result was kept may be gone.
    const kept = tools.questions.answered > 0 ? null : await cache?.read();
    const known = kept?.goto?.some((name) => !nodeVisit.targets?.has(name)) ? null : kept;
    if (known) return nodeVisit.finish({ ...updateOf(known.update), cached: true }, known.goto ?? undefined, info);
    let target: readonly string[] | undefined;
    const context = nodeContext(run, nodeVisit, info, tools);
    const going = Object.assign(context, {
      goto: (...names: string[]) => {
        target = expectTargets(nodeVisit, names);
      },
    });
    const record = updateOf(await spec.run(going, nodeVisit.state));
    const result = cache?.keeps({ update: record.update ?? null, goto: target ?? null }) ?? [];
    tools.keeping.values = [...context.store.keeps, ...result];
    return nodeVisit.finish(record, target, info);
  });
}

function cacheOf(
  { parts }: Walker,
  { cache: rules }: FunctionNode<Any>,
  { place, state }: NodeVisit,
): NodeCache | null {
  if (!rules) return null;
  const { replay, codecs, name } = parts;
  return new NodeCache(replay.session, codecs, cacheSpace(name, place.path), { rules, state });
}

/** Items begin in order, a bounded number at once. After a failure no more begin, and running ones finish. */
async function runMap(run: Walker, spec: MapNode<Any>, nodeVisit: NodeVisit): Promise<() => NodeRecord> {
  const items = spec.items(nodeVisit.state);
  if (!Array.isArray(items)) throw new PermanentError(`The items of ${nodeVisit.place.path} must be a list.`);
  const failures = new Map<number, unknown>();
  let begun = 0;
  const worker = async () => {
    while (begun < items.length && failures.size === 0) {
      const index = begun++;
      await runItem(run, spec, nodeVisit, { value: items[index], index }).catch((error) => failures.set(index, error));
    }
  };
  await Promise.all(Array.from({ length: Math.min(spec.limit, items.length) }, worker));
  if (failures.size > 0) throw failures.get(Math.min(...failures.keys()));
  return () => ({ gather: { into: spec.into, count: items.length } });
}

async function runItem(
  run: Walker,
  spec: MapNode<Any>,
  nodeVisit: NodeVisit,
  { value: item, index }: { readonly value: unknown; readonly index: number },
): Promise<void> {
  const { memory } = run.parts;
  const place = { path: nodeVisit.place.path, visit: `${nodeVisit.place.visit}.${index}` };
  const done = memory.results.get(frameId(place));
  if (done && "value" in done) return;
  if (done) throw decodeError(done.error);
  const inner = { ...nodeVisit, place, rescue: null, targets: null };
  const { rules } = spec;
  const value = await askingCall(run, "item", { nodeVisit: inner, rules }, async (info, tools) => {
    const context = nodeContext(run, inner, info, tools);
    const result = await spec.each(itemContext(context, index), item as never, nodeVisit.state);
    tools.keeping.values = context.store.keeps;
    return result;
  });
  keep(memory, place, { value });
}

/** All branches finish; of several failures, the first in branch order is thrown. */
async function runBranches(run: Walker, spec: ParallelNode<Any>, nodeVisit: NodeVisit): Promise<() => NodeRecord> {
  const { memory, plan } = run.parts;
  const branches = Object.entries(spec.branches);
  const ends = await Promise.allSettled(
    branches.map(async ([name, branch]) => {
      const place = placeIn(nodeVisit.place, name, 1);
      const inner: NodeVisit = {
        ...nodeVisit,
        place,
        finish: (record) => record,
        rescue: null,
        targets: null,
        alone: false,
      };
      leave(memory, plan, place, await run.node(branch, inner));
    }),
  );
  throwFirst(ends);
  return () => ({ gather: { branches: branches.map(([name]) => name) } });
}

/** A failure counts more than a breakpoint: the run does not get past it. */
export function throwFirst(ends: readonly PromiseSettledResult<unknown>[]): void {
  const failed = ends.flatMap((end) => (end.status === "rejected" ? [end.reason] : []));
  if (failed.length > 0) throw failed.find((error) => !(error instanceof AtBreakpoint)) ?? failed[0];
}

async function runSubgraph(run: Walker, spec: SubgraphNode<Any>, nodeVisit: NodeVisit): Promise<() => NodeRecord> {
  const { memory, replay, codecs } = run.parts;
  const { place } = nodeVisit;
  const { plan } = spec.graph;
  if (!memory.frames.has(frameId(place))) {
    const state = plan.init(parseInputNow(spec.graph, spec.input(nodeVisit.state)));
    const payload = codecs.encode({ state, start: plan.start } satisfies FrameRecord, `state of ${place.path}`);
    // Awaited: written after an entry of its own nodes, it would undo them.
    await replay.session.commit([
      { kind: "append", entry: { kind: "frame", name: place.path, key: place.visit, payload } },
    ]);
    enter(memory, place, codecs.decode(payload) as FrameRecord);
  }
  const last = await run.walk(place, plan, nodeVisit.alone);
  return () => updateOf(spec.apply(nodeVisit.state, plan.output(last) as never));
}

async function askPerson(run: Walker, spec: ApprovalNode<Any>, nodeVisit: NodeVisit): Promise<() => NodeRecord> {
  const { replay, codecs } = run.parts;
  const { path: name, visit: key } = nodeVisit.place;
  const { timeoutMs, ...rules } = spec.rules;
  const shown = { ask: spec.ask(nodeVisit.state), ...rules };
  const plan = spec.plan?.(nodeVisit.state);
  const question: Question = plan === undefined ? shown : { ...shown, plan };
  const id = callId("approval", name, key);
  const begun = replay.recorded.begun.get(id);
  if (begun && !isSamePlan(codecs.decode(begun.payload!) as Question, question)) throw new PlanChanged(name, key);
  const { answer, took } = await new Promise<{ answer: Answer; took: string }>((done, reject) => {
    const resolve = (answer: Answer, took: string) => done({ answer, took });
    replay.ask(new ApprovalCall({ id, name, key, question, timeoutMs, replay, codecs, resolve, reject }));
  });
  return () => ({ ...updateOf(spec.apply(nodeVisit.state, answer as never)), took });
}

/**
 * A question with another wording is the same question. With another plan it is not: the person did not approve that
 * plan.
 */
function isSamePlan(asked: Question, now: Question): boolean {
  return payloadHash(asked.plan ?? null) === payloadHash(now.plan ?? null);
}

async function awaitSignal(run: Walker, spec: WaitNode<Any>, nodeVisit: NodeVisit): Promise<() => NodeRecord> {
  const { replay, codecs } = run.parts;
  const { name } = spec.signal;
  const key = frameId(nodeVisit.place);
  const { timeoutMs } = spec;
  const id = callId("wait", name, key);
  const { payload, took } = await new Promise<{ payload: unknown; took: string | null }>((done, reject) => {
    const resolve = (payload: unknown, took: string | null) => done({ payload, took });
    replay.ask(new WaitCall({ kind: "wait", id, name, key, timeoutMs, replay, codecs, resolve, reject }));
  });
  return () => ({ ...updateOf(spec.apply(nodeVisit.state, payload as never)), ...(took !== null && { took }) });
}

function expectTargets({ targets, place }: NodeVisit, names: readonly string[]): readonly string[] {
  if (names.length === 0) throw new PermanentError(`${place.path} must name the node that it goes to.`);
  const name = names.find((one) => !targets?.has(one));
  if (name === undefined) return names;
  const problem = targets
    ? `the graph has no node ${JSON.stringify(name)}; it has ${[...targets].join(", ")}`
    : "an item or a branch has no edge";
  throw new PermanentError(`${place.path} cannot go to ${JSON.stringify(name)}: ${problem}.`);
}

function updateOf(update: unknown): NodeRecord {
  if (update === undefined || update === null) return {};
  if (typeof update === "object" && !Array.isArray(update)) return { update: update as Fields };
  throw new PermanentError(`A node must return the state fields that it changes, not ${typeof update}.`);
}

function nodeContext(
  { parts }: Walker,
  nodeVisit: NodeVisit,
  info: StepInfo,
  { spending, questions }: Tools,
): NodeContext & { readonly store: AttemptStore } {
  const { place, failure } = nodeVisit;
  const { memory, replay, codecs, services, beginning, stream } = parts;
  const { path, visit } = place;
  const { idempotencyKey, fence, attempt } = info;
  let reported = 0;
  return {
    idempotencyKey,
    fence,
    attempt,
    // A getter, so that a signal is created only if it is used.
    get signal() {
      return info.signal;
    },
    runId: replay.session.run.runId,
    node: path,
    visit,
    services,
    failure: failure && { node: failure.node, error: decodeError(failure.error) },
    spend: (budget, amount) => spending.spend(budget, amount),
    store: new AttemptStore(replay.session, codecs),
    write: (value) => stream.write({ node: path, visit, attempt, value }),
    interrupt: ((question: never) => {
      const asked = questions.ask(question, path);
      asked.catch(() => {}); // one that the function does not await must not end the process
      return asked;
    }) as Interrupts,
    goto: (...names) => void expectTargets({ ...nodeVisit, targets: null }, names),
    /**
     * Progress reported before a crash is not written again: each entry counts as progress of the run, and a node that
     * kills its process would never reach the crash limit.
     */
    async progress(value) {
      replay.throwIfOver();
      const id = frameId(place);
      reported++;
      if (reported <= (memory.progressCounts.get(id) ?? 0)) return;
      const payload = codecs.encode(value, `progress of ${path}`);
      countProgress(memory, id);
      await replay.session.commit([
        ...beginning.take(),
        { kind: "append", entry: { kind: "progress", name: path, key: `${visit}:${reported}`, payload } },
        ...spending.effects(place, codecs),
      ]);
    },
  };
}

function itemContext(context: NodeContext, index: number): ItemContext {
  return Object.assign(context, { index });
}
