// Answers requests under `/api/v1`: route, caller, checks, input, permission, handler, output.

import { Hono } from "hono";
import type * as z from "zod";
import type { RouteName } from "../api.js";
import { type Admin, Call } from "../call.js";
import { devHandlers } from "../handle/dev.js";
import { HANDLERS } from "../handle/index.js";
import type { Streams } from "../live/streams.js";
import type { Watcher } from "../live/watcher.js";
import type { Principal } from "../permission.js";
import { ApiProblem, answerTo } from "../problem.js";
import type { AnyRoute, Routes } from "../route.js";
import { DEV_ROUTES, type DevRouteName } from "../routes/dev.js";
import { ROUTES } from "../routes/index.js";
import type { Answered } from "./answered.js";
import { NEVER_STORED } from "./headers.js";
import { readBody } from "./read-body.js";
import { acceptedAgeMs, type SharedAnswers } from "./shared-answers.js";
import type { Repetitions, WriteLimit } from "./write-limit.js";

export interface ApiParts {
  readonly admin: Admin;
  readonly streams: Streams;
  readonly watcher: Watcher;
  readonly writes: WriteLimit;
  readonly repetitions: Repetitions;
  readonly shared: SharedAnswers;
  readonly onAnswer: (answered: Answered) => void;
}

export interface Asked {
  readonly request: Request;
  readonly requestId: string;
  readonly principal: Principal;
  /** Who sends the request, asked again: null when the caller is no longer known. */
  readonly again: () => Promise<Principal | null>;
}

export type Api = (asked: Asked, path: string) => Promise<Response>;

type Env = { Bindings: Asked };
type AnyName = RouteName | DevRouteName;
const LONGEST_KEY = 200;

export function api(parts: ApiParts): Api {
  const app = new Hono<Env>();
  const table: Routes = parts.admin.supervisor ? { ...ROUTES, ...DEV_ROUTES } : ROUTES;
  for (const [name, route] of Object.entries(table)) {
    app.on(route.method, route.path, (c) => answer(parts, { name: name as AnyName, route }, c.env, c.req.param()));
  }
  app.notFound((c) => problem(new ApiProblem(404, "NOT_FOUND", "There is no such route."), c.env.requestId));
  return async (asked, path) => {
    const { search } = new URL(asked.request.url);
    const { method, signal } = asked.request;
    return app.fetch(new Request(`http://api${path}${search}`, { method, signal }), asked);
  };
}

interface Named {
  readonly name: AnyName;
  readonly route: AnyRoute;
}

const ALL_HANDLERS = { ...HANDLERS, ...devHandlers };

async function answer(
  parts: ApiParts,
  named: Named,
  asked: Asked,
  params: Readonly<Record<string, string>>,
): Promise<Response> {
  const { world } = parts.admin;
  const begun = world.monotonicNow();
  const { requestId, principal } = asked;
  const done = (response: Response, error: unknown = null) => {
    const { status } = response;
    const code = (error as { code?: unknown } | null)?.code;
    const what = error === null ? null : typeof code === "string" ? code : String((error as Error)?.name ?? "Error");
    parts.onAnswer({
      requestId,
      route: named.name,
      status,
      ms: world.monotonicNow() - begun,
      by: principal.id,
      error: what,
    });
    return response;
  };
  try {
    return done(await handled(parts, named, asked, params));
  } catch (error) {
    return done(problem(error, requestId), error);
  }
}

async function handled(
  parts: ApiParts,
  { name, route }: Named,
  { request, requestId, principal, again }: Asked,
  params: Readonly<Record<string, string>>,
): Promise<Response> {
  const { admin, streams, watcher } = parts;
  expectPermission(principal, route);
  const isWrite = route.method !== "GET";
  if (isWrite) parts.writes.count(principal);
  const query = Object.fromEntries(new URL(request.url).searchParams);
  const sent = route.method === "GET" || route.method === "DELETE" ? query : await readBody(request);
  const input = parsedInput(route.input, { ...sent, ...params });
  const key = keyOf(request);
  const call = new Call(admin, { principal, requestId, key, env: input["env"] as string | undefined });
  if (name === "live.open") {
    const isAllowed = async () => mayAsk(await again(), route);
    return streams.open(call, input["topics"] as string[], { signal: request.signal, isAllowed });
  }
  const work = async () => {
    if (name === "live.topics") return streams.change(call, input["connection"] as string, input["topics"] as string[]);
    const handle = ALL_HANDLERS[name as keyof typeof ALL_HANDLERS] as (call: Call, input: unknown) => Promise<unknown>;
    try {
      return route.output.parse(await handle(call, input));
    } finally {
      if (isWrite) {
        parts.shared.forget();
        watcher.wake();
      }
    }
  };
  const output = isWrite
    ? await (key === null ? work() : parts.repetitions.once(`${principal.id} ${name} ${key}`, work))
    : await (NEVER_SHARED.includes(name)
        ? work()
        : parts.shared.get(sharedKey(call, name, input), acceptedAgeMs(request), work));
  return json(200, output, { "x-holdfast-now": new Date(await admin.clock.now()).toISOString() });
}

/** About the caller, or written to the audit with the caller's name. */
const NEVER_SHARED: readonly AnyName[] = ["session.get", "runs.payload"];

/** Callers who may do the same see the same. */
function sharedKey({ env, envs, principal }: Call, name: AnyName, input: object): string {
  return JSON.stringify([name, env, input, envs, [...principal.may].sort(), principal.groups ?? null]);
}

function mayAsk(principal: Principal | null, { may }: AnyRoute): boolean {
  return principal !== null && (may.length === 0 || may.some((one) => principal.may.includes(one)));
}

function expectPermission(principal: Principal, route: AnyRoute): void {
  if (mayAsk(principal, route)) return;
  const { may } = route;
  throw new ApiProblem(403, "FORBIDDEN", `This needs the permission ${may.join(" or ")}.`, may[0]);
}

function parsedInput(schema: z.ZodType, value: unknown): Record<string, unknown> {
  const result = schema.safeParse(value);
  if (result.success) return result.data as Record<string, unknown>;
  const { path, message } = result.error.issues[0]!;
  throw new ApiProblem(422, "INVALID_INPUT", `${path.join(".") || "input"}: ${message}`);
}

function keyOf(request: Request): string | null {
  const key = request.headers.get("idempotency-key");
  if (key === null) return null;
  if (key === "" || key.length > LONGEST_KEY) {
    throw new ApiProblem(422, "INVALID_INPUT", `Idempotency-Key: must have 1 to ${LONGEST_KEY} characters.`);
  }
  return key;
}

export function problem(error: unknown, requestId: string): Response {
  const { status, body } = answerTo(error, requestId);
  return json(status, body);
}

export function json(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Response {
  const all = { "content-type": "application/json; charset=utf-8", ...NEVER_STORED, ...headers };
  return new Response(JSON.stringify(body), { status, headers: all });
}
