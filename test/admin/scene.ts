// A dashboard over a memory store with some runs in it, and requests to it as the page sends them.

import { type DashboardOptions, dashboard } from "../../src/admin/dashboard.js";
import type { Permission, Principal } from "../../src/admin/permission.js";
import type { AnyRoute } from "../../src/admin/route.js";
import { systemWorld } from "../../src/kernel/system-world.js";
import type { Store } from "../../src/store/contract/store.js";
import { memoryStore } from "../../src/store/memory/index.js";

export const HOST = "localhost:4110";
export const world = systemWorld();

/** The caller is named by a header: `ann:see,read`. */
export function byHeader(request: Request): Principal | null {
  const [id, may = ""] = (request.headers.get("x-user") ?? "").split(":");
  if (!id) return null;
  return { id, may: may.split(",").filter((one) => one !== "") as Permission[] };
}

export interface Sent {
  readonly method?: string;
  readonly body?: unknown;
  readonly user?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export const ALL = "ann:see,read,approve,operate,administer";

export function open(options: Partial<DashboardOptions> = {}) {
  const store: Store = options.store ?? memoryStore();
  const site = dashboard({ store, auth: byHeader, writesPerMinute: 10_000, ...options });
  const send = (path: string, { method = "GET", body, user = ALL, headers = {} }: Sent = {}) => {
    const writes = method !== "GET" && method !== "HEAD";
    const own: Record<string, string> = { host: HOST, ...(user && { "x-user": user }) };
    if (writes) Object.assign(own, { "content-type": "application/json", "x-holdfast": "1", origin: `http://${HOST}` });
    const payload = writes ? { body: JSON.stringify(body ?? {}) } : {};
    return site.fetch(new Request(`http://${HOST}${path}`, { method, headers: { ...own, ...headers }, ...payload }));
  };
  const api = async (path: string, sent: Sent = {}) => {
    const response = await send(`/api/v1${path}`, sent);
    // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape.
    return { status: response.status, body: (await response.json()) as any, headers: response.headers };
  };
  const post = (path: string, body: unknown = {}, sent: Sent = {}) => api(path, { method: "POST", body, ...sent });
  return { store, site, send, api, post };
}

/** A run of a program that no node has. */
export async function startRun(post: ReturnType<typeof open>["post"], program = "order", input: unknown = { a: 1 }) {
  const { body } = await post("/runs", { program, input });
  return body.id as string;
}

const ID = "01900000-0000-7000-8000-000000000000";
/** Values for the fields of paths and the required ones of bodies: enough to pass the schema of every route. */
const FIELDS: Readonly<Record<string, unknown>> = {
  id: ID,
  ids: [ID],
  seq: 1,
  node: "node-a",
  queue: "work",
  schedule: "nightly",
  machine: "light",
  instance: "l-1",
  program: "order",
  kind: "dag",
  name: "etl",
  connection: ID,
  approval: "ship",
  choice: "yes",
  from: "plan",
  to: "plan",
  why: "because",
  mode: "full",
  type: "GO",
  event: "paid",
  body: {},
  enabled: true,
  may: ["administer"],
  action: "cancel",
  filter: {},
  digest: "x",
  with: ID,
  topics: [],
};

/** A request that passes the checks of its route. */
export function requestFor(route: AnyRoute): { readonly path: string; readonly sent: Sent } {
  const path = route.path.replace(/:(\w+)/g, (_, field: string) => String(FIELDS[field]));
  const fields = Object.keys((route.input as unknown as { shape: Record<string, unknown> }).shape);
  const inPath = [...route.path.matchAll(/:(\w+)/g)].map(([, field]) => field!);
  const others = fields.filter((field) => field in FIELDS && !inPath.includes(field) && isRequired(route, field));
  const values = Object.fromEntries(others.map((field) => [field, FIELDS[field]]));
  const isQuery = route.method === "GET" || route.method === "DELETE";
  const query = isQuery && others.length > 0 ? `?${new URLSearchParams(values as Record<string, string>)}` : "";
  return { path: `${path}${query}`, sent: { method: route.method, ...(!isQuery && { body: values }) } };
}

function isRequired(route: AnyRoute, field: string): boolean {
  const { shape } = route.input as unknown as {
    shape: Record<string, { safeParse(v: unknown): { success: boolean } }>;
  };
  return !shape[field]!.safeParse(undefined).success;
}
