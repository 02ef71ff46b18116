// Handlers of the first page, the doctor and the session.

import { examineServer, examineWork, type Finding, silentNodes } from "../../client/doctor.js";
import { PACKAGE_VERSION } from "../../kernel/package-version.js";
import type { NodeRecord } from "../../store/contract/node/nodes.js";
import type { ServerReport } from "../../store/contract/server-report.js";
import type { Store } from "../../store/contract/store.js";
import type { OutputOf, RouteName } from "../api.js";
import type { Call, Handlers } from "../call.js";
import type { OVERVIEW_ROUTES } from "../routes/overview.js";
import type { SESSION_ROUTES } from "../routes/session.js";
import { figureRows, programRow, RANGES } from "../view/figures.js";
import { iso } from "../view/iso.js";
import { queueRows } from "./queues.js";

/** Enough to say "more than 100". */
const MOST_QUESTIONS = 100;
const MOST_DEAD = 1_000;
const CLOCK_SKEW_MS = 500;

type Attention = OutputOf<"overview.get">["attention"][number];

export const overviewHandlers: Handlers<RouteName & keyof (typeof OVERVIEW_ROUTES & typeof SESSION_ROUTES)> = {
  "session.get": async (call) => ({
    id: call.principal.id,
    name: call.principal.name ?? call.principal.id,
    may: [...call.principal.may],
    envs: [...call.envs],
    groups: call.principal.groups ? [...call.principal.groups] : null,
    version: PACKAGE_VERSION,
    now: iso(await call.admin.clock.now()),
    live: true,
    dev: call.admin.supervisor !== null,
  }),
  "overview.get": async (call) => {
    const { store, env } = call;
    const nodes = await store.nodes.list({ env });
    const [queues, dead, questions, timers] = await Promise.all([
      queueRows(call, nodes),
      store.views.count({ env, states: ["failed", "dead", "quarantined"] }, MOST_DEAD),
      store.views.questions({ env, limit: MOST_QUESTIONS }),
      store.views.timers({ env, state: "dead", limit: MOST_QUESTIONS }),
    ]);
    const alive = nodes.filter((node) => node.alive);
    const lost = silentNodes(nodes);
    const slots = alive.flatMap(({ executors }) => executors).reduce((sum, one) => sum + one.slots, 0);
    return {
      nodes: { alive: alive.length, silent: lost.length },
      slots,
      held: nodes.reduce((sum, { holds }) => sum + holds, 0),
      queues,
      dead,
      approvals: { n: questions.rows.length, atLeast: questions.next !== null },
      attention: [
        ...lost.map(silent),
        ...queues.flatMap(queueAttention),
        ...(dead.n > 0 ? [attention("dead letters", deadText(dead), "dead", dead.n)] : []),
        ...questions.rows.slice(0, 5).map(({ runId, program, entry }) => {
          return {
            ...attention("approval", `${program} waits for the approval ${entry.name}`, runId),
            since: iso(entry.at),
          };
        }),
        ...(timers.rows.length > 0
          ? [attention("late timer", timersText(timers.rows.length), "timers", timers.rows.length)]
          : []),
      ],
    };
  },
  "figures.list": async (call, { range, program, queue }) => {
    const { ms, stepMs } = RANGES[range];
    const to = await call.admin.clock.now();
    const span = { env: call.env, from: Math.floor(to - ms), to: Math.ceil(to) };
    const of = { ...(program !== undefined && { program }), ...(queue !== undefined && { queue }) };
    const { statistics } = call.store;
    const [figures, programs] = await Promise.all([
      statistics.figures({ ...span, ...of, stepMs }),
      statistics.programs(span),
    ]);
    return {
      stepSeconds: stepMs / 1000,
      figures: figureRows(figures, stepMs),
      programs: programs.map(programRow),
      at: iso(figures.at),
    };
  },
  "doctor.get": async (call) => {
    const { store, env } = call;
    const nodes = await store.nodes.list({ env });
    const queues = await call.admin.queues.get(env);
    const leases = nodes.flatMap(({ alive, leaseMs }) => (alive && leaseMs !== null ? [leaseMs] : []));
    const server = isExamined(store) ? examineServer(await store.examine(), leases) : [await clockFinding(call)];
    const findings = [...server, ...examineWork(nodes, queues)];
    return { findings };
  },
};

function attention(kind: Attention["kind"], text: string, object: string, n: number | null = null): Attention {
  return { kind, text, object, since: null, n };
}

function deadText({ n, atLeast }: { readonly n: number; readonly atLeast: boolean }): string {
  const how = "failed, dead or quarantined";
  return n === 1 ? `1 run is ${how}` : `${atLeast ? "more than " : ""}${n} runs are ${how}`;
}

function timersText(n: number): string {
  return n === 1 ? "1 timer was given up" : `${n} timers were given up`;
}

function silent({ name, incarnation, seenAt, holds }: NodeRecord): Attention {
  const left = holds === 0 ? "it holds no run" : `it holds ${holds} ${holds === 1 ? "run" : "runs"}`;
  const text = `${name} gives no sign of life; ${left}`;
  return { ...attention("silent node", text, incarnation, holds), since: iso(seenAt) };
}

function queueAttention({ queue, paused, counts, slots }: OutputOf<"queues.list">["rows"][number]): Attention[] {
  const waiting = counts.waiting ?? 0;
  if (paused) {
    const text = `${queue} was paused by ${paused.by}`;
    return [{ ...attention("paused queue", text, queue, waiting), since: paused.at }];
  }
  if (waiting === 0 || slots > 0) return [];
  const text =
    waiting === 1
      ? `1 run of ${queue} waits, and no node claims it`
      : `${waiting} runs of ${queue} wait, and no node claims them`;
  return [attention("no capable node", text, queue, waiting)];
}

function isExamined(store: Store): store is Store & { examine(): Promise<ServerReport> } {
  return "examine" in store;
}

async function clockFinding(call: Call): Promise<Finding> {
  const skew = Math.round((await call.admin.clock.now()) - call.admin.world.wallNow());
  if (Math.abs(skew) <= CLOCK_SKEW_MS) {
    return { check: "clock", level: "ok", text: "The clock agrees with the store.", remedy: null };
  }
  return {
    check: "clock",
    level: "warning",
    text: `The clock differs by ${skew} ms.`,
    remedy: "Synchronise the clocks.",
  };
}
