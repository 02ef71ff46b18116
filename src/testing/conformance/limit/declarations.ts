// Declarations of nodes about their programs: whose declaration applies; what a run was started with takes precedence.

import type { Recovery } from "../../../kernel/run/recovery.js";
import type { DeclaredProgram } from "../../../store/contract/run/runs.js";
import { cases } from "../case.js";
import { matches, same, some } from "../expect.js";
import { PAST_MS, type Scene, SHORT_MS } from "../scene.js";

const rule = (max: number) => ({ kind: "slots", path: null, max, perMs: null }) as const;

function asks(s: Scene, max: number, recovery: Recovery = "resume", group = s.group()): DeclaredProgram {
  return { group, limits: [rule(max)], recovery };
}

async function limitOf(s: Scene, group = s.group()): Promise<number | null> {
  return (await s.store.runs.limitsOf(group))[0]?.max ?? null;
}

/** A node of this identity that has just started, and what it declares. */
async function started(s: Scene, identity: string, program: DeclaredProgram, more: Parameters<Scene["node"]>[1] = {}) {
  await s.advance(1);
  const incarnation = await s.node([program.group], { identity, ...more });
  return { incarnation, answer: await s.store.runs.declare(incarnation, [program]) };
}

const names = (holds: string, overruled: string) => ({ holds, overruled });

export const declarationCases = cases("declarations", {
  "a node that takes no runs of a group changes nothing there": async (s) => {
    await started(s, "serving", asks(s, 50));
    const rewriting = asks(s, 1, "fail");
    for (const mode of ["disabled", "trigger_only"] as const) {
      same((await started(s, mode, rewriting, { mode })).answer, [], mode);
    }
    const unregistered = s.token();
    same(await s.store.runs.declare(unregistered, [rewriting]), [], "of no registered node");
    const stopped = await s.node([s.group()]);
    await s.store.nodes.stop(stopped);
    same(await s.store.runs.declare(stopped, [rewriting]), [], "of one that has stopped");
    const elsewhere = await s.node([s.group({ program: "other" })]);
    same(await s.store.runs.declare(elsewhere, [rewriting]), [], "of one that does not serve it");
    const helping = await s.node([]);
    await s.store.nodes.claimsFrom(helping, await s.store.runs.groupIds([s.group()]));
    same(await s.store.runs.declare(helping, [rewriting]), [], "of one that only helps out");
    const abroad = await s.node([s.group()], { env: `${s.env}-b` });
    same(await s.store.runs.declare(abroad, [rewriting]), [], "of one of another env");
    same(await limitOf(s), 50, "the limit");
  },

  "it counts from when the node takes runs of the group": async (s) => {
    await started(s, "serving", asks(s, 50));
    const { incarnation } = await started(s, "green", asks(s, 7), { mode: "disabled" });
    await s.store.nodes.claimsFrom(incarnation, await s.store.runs.groupIds([s.group()]));
    const [conflict] = await s.store.runs.declare(incarnation, [asks(s, 7)]);
    matches(conflict, names("green", "serving"), "answer");
    same(await limitOf(s), 7, "the limit");
  },

  "of two the one that started later decides, once; the older one changes nothing, however often it declares": async (
    s,
  ) => {
    const older = await started(s, "older", asks(s, 50));
    same(older.answer, [], "the first");
    const newer = await started(s, "newer", asks(s, 1, "fail"));
    const conflict = { group: s.group(), of: ["limits", "recovery"] };
    same(newer.answer, [{ ...conflict, ...names("newer", "older") }], "the newer");
    same(await s.store.runs.declare(newer.incarnation, [asks(s, 1, "fail")]), [], "the newer again");
    for (let i = 0; i < 2; i++) {
      const again = await s.store.runs.declare(older.incarnation, [asks(s, 50)]);
      same(again, [{ ...conflict, ...names("newer", "older") }], "the older again");
    }
    same(await limitOf(s), 1, "the limit");
    const listed = await s.store.nodes.list({ env: s.env });
    const overruled = listed.map(({ identity, overruled: of }) => [identity, of]);
    same(
      overruled,
      [
        ["newer", []],
        ["older", [s.group()]],
      ],
      "who is overruled",
    );
  },

  "when the newer one is gone or takes no more runs of it, the older one's holds again": async (s) => {
    for (const leave of ["stop", "claimsFrom"] as const) {
      const group = s.group({ program: leave });
      const older = await started(s, "older", asks(s, 50, "resume", group));
      const newer = await started(s, "newer", asks(s, 1, "resume", group));
      same(await limitOf(s, group), 1, "the limit while the newer one is there");
      if (leave === "stop") await s.store.nodes.stop(newer.incarnation);
      else await s.store.nodes.claimsFrom(newer.incarnation, []);
      same(await s.store.runs.declare(older.incarnation, [asks(s, 50, "resume", group)]), [], "the older, alone");
      same(await limitOf(s, group), 50, "the limit afterwards");
    }
  },

  "a run with a recovery policy of its own is judged by that, one without by what was declared": async (s) => {
    await s.declare([{ group: s.group(), limits: [], recovery: "fail" }]);
    const said = await s.insert({ recovery: "resume" });
    const unsaid = await s.insert();
    await s.claim({ leaseMs: SHORT_MS });
    await s.advance(PAST_MS);
    const orphans = await s.store.runs.orphans({ env: s.env, staleMs: 0, limit: 10 });
    const policies = new Map(orphans.map(({ runId, recovery }) => [runId, recovery]));
    same([policies.get(said.id), policies.get(unsaid.id)], ["resume", "fail"], "orphans");
    const swept = await s.store.runs.reclaimExpired({ env: s.env, limit: 1000 });
    const outcomeOf = (id: string) =>
      some(
        swept.find(({ runId }) => runId === id),
        "a swept run",
      ).outcome;
    same([outcomeOf(said.id), outcomeOf(unsaid.id)], ["waiting", "failed"], "swept");
  },
});
