// Handlers of programs, as registered nodes have them, and of definitions.

import type { NodeRecord } from "../../store/contract/node/nodes.js";
import type { RouteName } from "../api.js";
import type { Call, Handlers } from "../call.js";
import { ApiProblem, notFound } from "../problem.js";
import type { PROGRAM_ROUTES } from "../routes/programs.js";
import { iso } from "../view/iso.js";
import { hasRedacted, REDACTED, redacted } from "../view/redact.js";

async function programRows(call: Call, wanted?: string) {
  const { store, env } = call;
  const [nodes, reported, subscriptions, { schedules }] = await Promise.all([
    store.nodes.list({ env }),
    store.nodes.programs(env),
    store.events.subscriptions(env),
    store.schedules.list(env),
  ]);
  const names = new Set(nodes.flatMap(({ serves }) => serves.map(({ program }) => program)));
  const shown = [...names].filter((name) => wanted === undefined || name === wanted).sort();
  return Promise.all(
    shown.map(async (name) => {
      const groups = nodes.flatMap(({ serves }) => serves.filter(({ program }) => program === name));
      const has = (of: NodeRecord["serves"]) => of.some(({ program }) => program === name);
      const facts = reported.find((one) => one.name === name);
      const alive = nodes.filter((node) => node.alive && has(node.serves));
      return {
        name,
        queues: unique(groups.map(({ queue }) => queue)),
        versions: unique(groups.map(({ version }) => version)),
        stacks: unique(groups.map(({ stack }) => stack)),
        builds: unique(alive.flatMap(({ build }) => build ?? [])),
        servedBy: alive.map((node) => node.name),
        claimedBy: alive.filter(({ claims }) => has(claims)).map((node) => node.name),
        limits: groups[0] ? await store.runs.limitsOf(groups[0]) : [],
        triggers: subscriptions.filter(({ program }) => program === name).length,
        schedules: schedules.filter(({ group }) => group.program === name).length,
        kind: facts?.kind ?? null,
        shape: parsed(facts?.shape),
        inputSchema: parsed(facts?.inputSchema),
      };
    }),
  );
}

function parsed(text: string | null | undefined): unknown {
  return text === null || text === undefined ? null : JSON.parse(text);
}

function unique<T>(values: readonly T[]): T[] {
  return [...new Set(values)];
}

async function definitionOf(call: Call, kind: string, name: string) {
  const { definitions } = await call.store.definitions.list(call.env);
  return definitions?.find((one) => one.kind === kind && one.name === name) ?? null;
}

export const programHandlers: Handlers<RouteName & keyof typeof PROGRAM_ROUTES> = {
  "programs.list": async (call) => ({ rows: await programRows(call) }),
  "programs.get": async (call, { program }) => {
    const [row] = await programRows(call, program);
    if (!row) throw notFound(`The program ${JSON.stringify(program)}`);
    return row;
  },
  "definitions.list": async (call) => {
    const rows = await call.client().definitions.list();
    const shown = (body: object) => redacted(body, call.admin.redact) as Record<string, unknown>;
    return { rows: rows.map(({ at, body, ...row }) => ({ ...row, at: iso(at), body: shown(body) })) };
  },
  "definitions.save": async (call, { kind, name, body, over, note }) => {
    // Read through this API and sent back: the value that was hidden would be lost.
    if (hasRedacted(body)) {
      const message = `The body has ${JSON.stringify(REDACTED)} in the place of a value. Write the value.`;
      throw new ApiProblem(422, "INVALID_INPUT", message);
    }
    const before = await definitionOf(call, kind, name);
    const change = {
      action: "definitions.save" as const,
      object: `${kind}/${name}`,
      before: before && { version: before.version, body: JSON.parse(before.body) as unknown },
      after: { body },
      note,
    };
    const options = { kind, by: call.by, ...(over !== undefined && { over }) };
    return { version: await call.change(change, () => call.client().definitions.save(name, body, options)) };
  },
  "definitions.enable": async (call, { kind, name, enabled, note }) => {
    const before = await definitionOf(call, kind, name);
    if (!before) throw notFound(`The definition ${kind}/${name}`);
    const change = {
      action: "definitions.enable" as const,
      object: `${kind}/${name}`,
      before: { enabled: before.enabled },
      after: { enabled },
      note,
    };
    await call.change(change, () => call.store.definitions.enable({ env: call.env, kind, name }, enabled, call.by));
    return { outcome: enabled ? "enabled" : "disabled" };
  },
  "definitions.remove": async (call, { kind, name, note }) => {
    const before = await definitionOf(call, kind, name);
    if (!before) throw notFound(`The definition ${kind}/${name}`);
    const change = {
      action: "definitions.remove" as const,
      object: `${kind}/${name}`,
      before: { version: before.version, body: JSON.parse(before.body) as unknown },
      note,
    };
    await call.change(change, () => call.client().definitions.remove(name, { kind }));
    return { outcome: "removed" };
  },
};
