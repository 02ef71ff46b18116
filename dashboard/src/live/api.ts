// Calls the admin API: fields into path, query or body, errors as a type, the database's clock out of every answer.

import { signal } from "@preact/signals";
import { ADDRESSES } from "../../../src/admin/addresses.js";
import type { RouteName } from "../../../src/admin/api.js";
import { setClock } from "./clock.js";
import type { InputOf, OutputOf, Permission, Session } from "./model.js";
import { env, mount } from "./router.js";
import { takesEnv } from "./takes-env.js";

/** The token is asked for when the server wants one; it stays in this tab. */
const TOKEN = "holdfast.token";
export const needsToken = signal(false);
export const session = signal<Session | null>(null);

export class ApiRefusal extends Error {
  readonly code: string;
  readonly status: number;
  readonly requestId: string | null;
  readonly permission: Permission | null;

  constructor(status: number, body: { code?: string; message?: string; requestId?: string; permission?: Permission }) {
    super(body.message ?? (status === 0 ? "The server does not answer." : `The server answered ${status}.`));
    this.code = body.code ?? (status === 0 ? "UNREACHABLE" : `HTTP_${status}`);
    this.status = status;
    this.requestId = body.requestId ?? null;
    this.permission = body.permission ?? null;
  }
}

export function setToken(token: string): void {
  sessionStorage.setItem(TOKEN, token);
  needsToken.value = false;
}

export function headers(writes: boolean): Record<string, string> {
  const token = sessionStorage.getItem(TOKEN);
  return {
    ...(token !== null && { authorization: `Bearer ${token}` }),
    ...(writes && { "content-type": "application/json", "x-holdfast": "1", "idempotency-key": randomKey() }),
  };
}

/** `crypto.randomUUID` is missing on plain http. */
function randomKey(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

export function apiUrl(path: string): string {
  return `${mount}api/v1${path}`;
}

export async function call<Name extends RouteName>(
  name: Name,
  input: InputOf<Name>,
  options: CallOptions = {},
): Promise<OutputOf<Name>> {
  const [method, path] = ADDRESSES[name].split(" ") as [string, string];
  const fields = { ...(takesEnv(path) && { env: env.value }), ...(input as Record<string, unknown>) };
  return (await request(method, path, fields, options)) as OutputOf<Name>;
}

export interface CallOptions {
  readonly signal?: AbortSignal;
  /** An answer to another page that is not older will do. */
  readonly maxAgeMs?: number;
}

/** For routes that are not in the table: those of a development server. */
export async function request(
  method: string,
  pattern: string,
  fields: Readonly<Record<string, unknown>>,
  { signal: abort, maxAgeMs = 0 }: CallOptions = {},
): Promise<unknown> {
  const rest = new Map(Object.entries(fields).filter(([, value]) => value !== undefined && value !== ""));
  const path = pattern.replace(/:(\w+)/g, (_, field: string) => {
    const value = rest.get(field);
    rest.delete(field);
    return encodeURIComponent(String(value));
  });
  const reads = method === "GET" || method === "DELETE";
  const query = reads ? new URLSearchParams([...rest].map(([field, value]) => [field, String(value)])).toString() : "";
  const age = maxAgeMs >= 1000 ? { "cache-control": `max-age=${Math.floor(maxAgeMs / 1000)}` } : {};
  const init: RequestInit = {
    method,
    headers: { ...headers(method !== "GET"), ...age },
    ...(abort && { signal: abort }),
  };
  if (!reads) init.body = JSON.stringify(Object.fromEntries(rest));
  return answer(await send(apiUrl(path) + (query === "" ? "" : `?${query}`), init));
}

async function send(url: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, init);
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new ApiRefusal(0, {});
  }
}

async function answer(response: Response): Promise<unknown> {
  const now = response.headers.get("x-holdfast-now");
  if (now !== null) setClock(now);
  const body = (await response.json().catch(() => ({}))) as Record<string, unknown>;
  if (response.status === 401) needsToken.value = true;
  if (!response.ok) throw new ApiRefusal(response.status, body);
  return body;
}

export function may(permission: Permission): boolean {
  return session.value?.may.includes(permission) ?? false;
}
