// One request to the admin API: who asks, in which env, and how its change is written to the audit.

import { createHash } from "node:crypto";
import type * as z from "zod";
import { type Client, createClient } from "../client/create-client.js";
import type { Codec } from "../kernel/codec/codec.js";
import type { Codecs } from "../kernel/codec/codecs.js";
import type { World } from "../kernel/world.js";
import type { QueueRecord } from "../store/contract/limit/queues.js";
import type { RunRecord } from "../store/contract/run/runs.js";
import type { Store } from "../store/contract/store.js";
import type { OutputOf, RouteName } from "./api.js";
import type { Clock } from "./clock.js";
import type { Permission, Principal } from "./permission.js";
import { ApiProblem, notFound } from "./problem.js";
import type { DevRouteName } from "./routes/dev.js";
import type { ROUTES } from "./routes/index.js";
import type { SharedRead } from "./shared-read.js";
import type { Supervisor } from "./supervisor.js";

export interface Admin {
  readonly store: Store;
  readonly codecs: Codecs;
  readonly ownCodecs: readonly Codec[];
  readonly world: World;
  /** The first is the default. */
  readonly envs: readonly string[];
  /** Fields whose names match are not shown; null: all are. */
  readonly redact: RegExp | null;
  readonly clock: Clock;
  /** By env: counting runs by queue reads all that have not ended. */
  readonly queues: SharedRead<readonly QueueRecord[]>;
  /** Only of a development server. */
  readonly supervisor: Supervisor | null;
  /** Who started a run does not decide its approvals. */
  readonly requireDifferentApprover: boolean;
}

export interface Change {
  readonly action: RouteName | DevRouteName;
  readonly object: string;
  readonly before?: unknown;
  readonly after?: unknown;
  readonly note?: string | undefined;
}

export class Call {
  readonly admin: Admin;
  readonly principal: Principal;
  readonly requestId: string;
  readonly env: string;
  /** The value of Idempotency-Key. */
  readonly key: string | null;

  constructor(
    admin: Admin,
    asked: Pick<Call, "principal" | "requestId" | "key"> & { readonly env: string | undefined },
  ) {
    this.admin = admin;
    this.principal = asked.principal;
    this.requestId = asked.requestId;
    this.key = asked.key;
    this.env = asked.env ?? this.envs[0] ?? "";
    if (!this.envs.includes(this.env)) {
      throw new ApiProblem(403, "ENV_FORBIDDEN", `The env ${JSON.stringify(this.env)} is not open to you here.`);
    }
  }

  /** Those of this server that the caller may see. */
  get envs(): readonly string[] {
    const { envs } = this.principal;
    return envs === undefined ? this.admin.envs : this.admin.envs.filter((env) => envs.includes(env));
  }

  get by(): string {
    return this.principal.id;
  }

  get store(): Store {
    return this.admin.store;
  }

  may(permission: Permission): boolean {
    return this.principal.may.includes(permission);
  }

  /** `runId`: of the run that it starts, so that the audit row names it. */
  client({ stack, runId }: { readonly stack?: string | undefined; readonly runId?: string } = {}): Client<readonly []> {
    const { store, ownCodecs, world: given } = this.admin;
    const place = stack === undefined ? {} : { stack };
    const world = runId === undefined ? given : (Object.create(given, { id: { value: () => runId } }) as World);
    return createClient({ store, env: this.env, codecs: ownCodecs, ...place }, world);
  }

  /** A run in an env that the caller may see; a run of another env does not exist for it. */
  async run(runId: string): Promise<RunRecord> {
    const run = await this.store.runs.get(runId);
    if (!run || !this.envs.includes(run.group.env)) throw notFound(`The run ${runId}`);
    return run;
  }

  /** The call in the env of a run. */
  in(env: string): Call {
    const { admin, principal, requestId, key } = this;
    return new Call(admin, { principal, requestId, key, env });
  }

  /** The same for every repetition of the request: the store finds its own effect. */
  token(): string {
    if (this.key === null) return this.admin.world.token();
    const hex = createHash("sha256").update(`${this.by}\n${this.key}`).digest("hex");
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
  }

  /** Does the change; its first statement also writes the audit row. */
  change<Answer>(what: Change, work: () => Promise<Answer>): Promise<Answer> {
    const { action, object, before, after, note } = what;
    const text = (value: unknown) => (value === undefined ? null : JSON.stringify(value));
    const row = {
      id: this.admin.world.id(),
      env: this.env,
      by: this.by,
      via: "admin",
      action,
      object,
      before: text(before),
      after: text(after),
      note: note ?? null,
      request: this.requestId,
    };
    return this.store.audit.record(row, work).finally(() => this.admin.queues.forget(this.env));
  }
}

type Table = typeof ROUTES;
export type ParsedInput<Name extends RouteName> = z.output<Table[Name]["input"]>;
export type Handler<Name extends RouteName> = (call: Call, input: ParsedInput<Name>) => Promise<OutputOf<Name>>;
/** The compiler asks for a handler for each of these routes. */
export type Handlers<Names extends RouteName> = { readonly [Name in Names]: Handler<Name> };
