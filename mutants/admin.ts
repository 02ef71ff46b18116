// Planted bugs in the admin API: doors left open, secrets shown, changes without an audit row, statements for every stream.

import type { Mutant } from "./mutant.js";

const GUARDS = { file: "test/admin/guards.test.ts" };
const PERMISSIONS = { file: "test/admin/permissions.test.ts" };
const LIVE = { file: "test/admin/live.test.ts" };
const POSTGRES = { file: "test/admin/postgres.test.ts" };
const ANSWERS = { file: "test/admin/answers.test.ts" };
const GUARD = "src/admin/serve/guard.ts";

export const admin: readonly Mutant[] = [
  {
    name: "any host is served",
    breaks: "no answer under a foreign Host",
    edits: [{ file: GUARD, find: "if (isLoopbackHost(host) || hosts.has(host)) return;", put: "if (host) return;" }],
    killedBy: [GUARDS],
  },
  {
    name: "another site may change things",
    breaks: "no change by another site",
    edits: [{ file: GUARD, find: "(own !== host && !hosts.has(own))", put: "false" }],
    killedBy: [GUARDS],
  },
  {
    name: "a form may change things",
    breaks: "no change by another site",
    edits: [{ file: GUARD, find: 'if (type !== "application/json") {', put: "if (type === undefined) {" }],
    killedBy: [GUARDS],
  },
  {
    name: "permissions are not asked",
    breaks: "no route without its permission",
    edits: [{ file: "src/admin/serve/api.ts", find: "  expectPermission(principal, route);\n", put: "" }],
    killedBy: [PERMISSIONS],
  },
  {
    name: "a revoked token still works",
    breaks: "a revoked token is refused",
    edits: [
      { file: "src/store/memory/audit/tokens.ts", find: "row.revokedAtUs !== null || ", put: "" },
      { file: "src/store/postgres/audit/tokens.ts", find: "t.revoked_at is null and ", put: "" },
    ],
    killedBy: [{ file: "test/conformance/memory.test.ts" }],
  },
  {
    name: "without auth every machine is served",
    breaks: "loopback only without auth",
    edits: [
      {
        file: "src/admin/dashboard.ts",
        find: "if (!options.auth && !LOOPBACK.includes(host)) throw needsAuth(`to listen on ${host}`);",
        put: "",
      },
    ],
    killedBy: [GUARDS],
  },
  {
    name: "secrets are shown",
    breaks: "no secret in an answer",
    edits: [
      {
        file: "src/admin/view/redact.ts",
        find: "names.test(name) ? REDACTED : redacted(item, names)",
        put: "redacted(item, names)",
      },
    ],
    killedBy: [GUARDS],
  },
  {
    name: "the audit row follows the change",
    breaks: "no change without its audit row",
    edits: [
      {
        file: "src/store/postgres/connection/database.ts",
        find: "if (!call || !isWriting(statement, this.dialect)) return",
        put: "if (!call || call.row) return",
      },
    ],
    killedBy: [POSTGRES],
  },
  {
    name: "a bulk step is not bound to its preview",
    breaks: "what was shown is what is done",
    edits: [
      {
        file: "src/admin/handle/bulk.ts",
        find: "if (digest !== digestOf(inEnv, action, filter)) {",
        put: "if (digest.length < 64) {",
      },
    ],
    killedBy: [POSTGRES],
  },
  {
    name: "the watcher asks without a stream",
    breaks: "no stream, no statement",
    edits: [
      {
        file: "src/admin/live/watcher.ts",
        find: "    if (this.#followers.size > 0) return;\n    this.#cancelTick?.();",
        put: "    if (this.#followers.size >= 0) return;\n    this.#cancelTick?.();",
      },
      {
        file: "src/admin/live/watcher.ts",
        find: "if (this.#followers.size === 0 || this.#looking) return;",
        put: "if (this.#looking) return;",
      },
      {
        file: "src/admin/live/watcher.ts",
        find: "    await Promise.all([this.#runs(followers), ",
        put: "    await this.#store.views.runs([]);\n    await Promise.all([this.#runs(followers), ",
      },
    ],
    killedBy: [LIVE],
  },
  {
    name: "the one who started a run decides its approvals",
    breaks: "another person decides, where it is required",
    edits: [
      {
        file: "src/admin/handle/decider.ts",
        find: "  if (call.admin.requireDifferentApprover) await expectAnother(call, run);\n",
        put: "",
      },
    ],
    killedBy: [ANSWERS],
  },
  {
    name: "a poll is answered from before a change",
    breaks: "a change through the server is seen",
    edits: [{ file: "src/admin/serve/api.ts", find: "        parts.shared.forget();\n", put: "" }],
    killedBy: [ANSWERS],
  },
  {
    name: "a shared answer ignores what the caller may see",
    breaks: "callers who may do the same see the same",
    edits: [
      { file: "src/admin/serve/api.ts", find: "[...principal.may].sort(), principal.groups ?? null", put: "null" },
    ],
    killedBy: [ANSWERS],
  },
  {
    name: "a look at a payload is shared",
    breaks: "each look is in the audit",
    edits: [{ file: "src/admin/serve/api.ts", find: '["session.get", "runs.payload"]', put: '["session.get"]' }],
    killedBy: [ANSWERS],
  },
  {
    name: "a group is retried with letters of other codes",
    breaks: "what was shown is what is done",
    edits: [
      {
        file: "src/admin/handle/bulk.ts",
        find: '    ...(filter.code !== "" && { code: filter.code }),\n',
        put: "",
      },
      {
        file: "src/admin/handle/bulk.ts",
        find: 'rows.filter(({ code }) => (code ?? "") === filter.code)',
        put: "rows",
      },
    ],
    killedBy: [ANSWERS],
  },
  {
    name: "hidden values of a definition are saved",
    breaks: "no value is lost by redaction",
    edits: [{ file: "src/admin/handle/programs.ts", find: "if (hasRedacted(body)) {", put: "if (body === null) {" }],
    killedBy: [ANSWERS],
  },
  {
    name: "a run that asks is not marked",
    breaks: "every open question is listed",
    edits: [{ file: "src/store/postgres/claim/commit.ts", find: ", asks = r.asks or f.asks,", put: "," }],
    killedBy: [{ file: "test/conformance/postgres.test.ts", test: "question" }],
  },
  {
    name: "open questions are found among the decided ones",
    breaks: "a list reads its page only",
    edits: [
      {
        file: "src/store/postgres/view/histories.ts",
        find: "where r.asks and r.state not in ${ENDED} ${behind}",
        put: "where r.asks ${behind}",
      },
    ],
    killedBy: [{ file: "test/store/planner/views.test.ts" }],
  },
];
