// `dashboard`: the admin API and its page as one object that mounts in any server, or listens by itself.

import { createServer, type Server } from "node:http";
import type { Codec } from "../kernel/codec/codec.js";
import { codecs } from "../kernel/codec/codecs.js";
import { InvalidInput } from "../kernel/error.js";
import { envName } from "../kernel/name.js";
import { systemWorld } from "../kernel/system-world.js";
import type { World } from "../kernel/world.js";
import type { Store } from "../store/contract/store.js";
import { type Auth, LOCAL } from "./auth/authenticate.js";
import { databaseClock } from "./clock.js";
import { Streams } from "./live/streams.js";
import { Watcher } from "./live/watcher.js";
import { Metrics } from "./metrics.js";
import type { MetricsRegistry } from "./metrics-registry.js";
import type { MeasuredNode } from "./node-metrics.js";
import { openApi } from "./openapi.js";
import type { Principal } from "./permission.js";
import { ApiProblem } from "./problem.js";
import type { Answered } from "./serve/answered.js";
import { type Api, api, json, problem } from "./serve/api.js";
import { assetAt, builtPage } from "./serve/assets.js";
import { checkHost, checkOrigin, type GuardOptions, isLoopbackAddress } from "./serve/guard.js";
import { NEVER_STORED, SECURITY_HEADERS } from "./serve/headers.js";
import { type NodeHandler, nodeHandler } from "./serve/node-handler.js";
import { SharedAnswers } from "./serve/shared-answers.js";
import { Repetitions, WriteLimit } from "./serve/write-limit.js";
import { SharedRead } from "./shared-read.js";
import type { Supervisor } from "./supervisor.js";
import { SECRET_NAMES } from "./view/redact.js";

/** Options of `dashboard`: the store it shows, who may see it, and where it is mounted. */
export interface DashboardOptions {
  /** The store whose runs, nodes and queues it shows. */
  readonly store: Store;
  /** Who sends a request. Without it only this machine is served, by `listen` and `handler`. */
  readonly auth?: Auth;
  /** Where it is mounted, like `/ops`. @default at the root */
  readonly basePath?: string;
  /** Its address for people: requests with this Host are accepted. */
  readonly publicUrl?: string;
  /** More values of Host that are accepted. */
  readonly hosts?: readonly string[];
  /** The envs that are shown; the first is the default. @default HOLDFAST_ENV, else `default` */
  readonly envs?: readonly string[];
  /** Codecs of your own, so that their payloads can be shown. */
  readonly codecs?: readonly Codec[];
  /** Fields whose names match are not shown; false: all are. @default passwords, secrets, tokens, keys, cookies */
  readonly redact?: RegExp | false;
  /** Who started a run, or forked it, does not decide its approvals. @default false */
  readonly requireDifferentApprover?: boolean;
  /** How many changes a caller may make in a minute. @default 60 */
  readonly writesPerMinute?: number;
  /** Your own prom-client registry; the figures are added to it. */
  readonly registry?: MetricsRegistry;
  /** Nodes of this process: what they do is counted in `/metrics`. */
  readonly nodes?: readonly MeasuredNode[];
  /** The folder of the built page. @default that of this package */
  readonly page?: string;
  /** Called after every API request, without payloads. */
  readonly onAnswer?: (answered: Answered) => void;
}

/** Options of `listen`. */
export interface ListenOptions {
  /** The port; 0 takes a free one. @default 4110 */
  readonly port?: number;
  /** The address it listens on. Any but the default needs `auth`. @default 127.0.0.1 */
  readonly host?: string;
}

/** The admin API and its page, to mount in a server or to listen by itself. */
export interface Dashboard {
  /** For Hono, Bun, Deno and everything with Request and Response. Needs `auth`. */
  readonly fetch: (request: Request) => Promise<Response>;
  /** For node:http, Express, Connect; for Fastify after `hijack`. */
  readonly handler: NodeHandler;
  /** For Next: `export const { GET, POST, PUT, DELETE } = ops.methods`. */
  readonly methods: Readonly<Record<"GET" | "POST" | "PUT" | "DELETE", (request: Request) => Promise<Response>>>;
  /** Its own server. Resolves with its address. */
  listen(options?: ListenOptions): Promise<{ readonly url: string; readonly port: number }>;
  /** Ends streams and servers. The store stays open. */
  close(): Promise<void>;
}

const API = "/api/v1";
const LOOPBACK = ["127.0.0.1", "::1", "localhost"];

/**
 * Makes the dashboard and its admin API, to mount in a server of your own or to listen by itself.
 *
 * @example
 * ```ts
 * const ops = dashboard({ store, auth: tokens(), basePath: "/ops" });
 * const web = createServer((request, response) => ops.handler(request, response)).listen(0, "127.0.0.1");
 * ```
 */
// `supervisor`: passed by `holdfast dev` only; its routes need no more than `operate`, and no process outside of it can be named.
export function dashboard(
  options: DashboardOptions,
  world: World = systemWorld(),
  supervisor: Supervisor | null = null,
): Dashboard {
  const site = new Site(options, world, supervisor);
  const remote = (request: Request) => site.answer(request, null);
  const handler = nodeHandler((request, address) => site.answer(request, address));
  const servers = new Set<Server>();
  return {
    fetch: remote,
    handler,
    methods: { GET: remote, POST: remote, PUT: remote, DELETE: remote },
    async listen({ port = 4110, host = "127.0.0.1" } = {}) {
      if (!options.auth && !LOOPBACK.includes(host)) throw needsAuth(`to listen on ${host}`);
      const server = createServer((request, response) => void handler(request, response));
      await new Promise<void>((resolve, reject) => {
        server.once("error", reject).listen(port, host, resolve);
      });
      servers.add(server);
      const address = server.address() as { readonly port: number };
      const name = host.includes(":") ? `[${host}]` : host;
      return { url: `http://${name}:${address.port}${site.basePath}/`, port: address.port };
    },
    async close() {
      site.close();
      for (const server of servers) {
        server.closeAllConnections();
        await new Promise((resolve) => server.close(resolve));
      }
    },
  };
}

function needsAuth(what: string): ApiProblem {
  return new ApiProblem(
    403,
    "AUTH_REQUIRED",
    `Set \`auth\` ${what}: without it only this machine is served, on loopback.`,
  );
}

class Site {
  readonly basePath: string;
  readonly #options: DashboardOptions;
  readonly #world: World;
  readonly #guard: GuardOptions;
  readonly #api: Api;
  readonly #streams: Streams;
  readonly #metrics: Metrics;
  readonly #page: string | null;
  #openApi: object | null = null;

  constructor(options: DashboardOptions, world: World, supervisor: Supervisor | null) {
    const { store, redact = SECRET_NAMES, codecs: ownCodecs = [], registry, nodes = [] } = options;
    this.#options = options;
    this.#world = world;
    this.basePath = basePathOf(options.basePath ?? "");
    this.#page = options.page ?? builtPage();
    const hosts = [...(options.publicUrl ? [hostOf(options.publicUrl)] : []), ...(options.hosts ?? [])];
    this.#guard = { hosts: new Set(hosts.map((one) => one.toLowerCase())), hasAuth: options.auth !== undefined };
    const envs = (options.envs ?? [process.env["HOLDFAST_ENV"] || "default"]).map((env) => envName(env, "envs"));
    const watcher = new Watcher(store, world);
    this.#streams = new Streams(watcher, world);
    this.#metrics = new Metrics({ store, world, envs, nodes, ...(registry && { registry }) });
    const clock = databaseClock(store, world);
    const queues = new SharedRead(world, (env) => store.queues.list(env));
    const shown = { codecs: codecs(ownCodecs), ownCodecs, envs, redact: redact || null };
    const { requireDifferentApprover = false } = options;
    const admin = { store, world, clock, queues, supervisor, requireDifferentApprover, ...shown };
    this.#api = api({
      admin,
      streams: this.#streams,
      watcher,
      writes: new WriteLimit(world, options.writesPerMinute ?? 60),
      repetitions: new Repetitions(world),
      shared: new SharedAnswers(world),
      onAnswer: (answered) => {
        this.#metrics.answered(answered.route, answered.status, answered.ms);
        options.onAnswer?.(answered);
      },
    });
  }

  close(): void {
    this.#streams.close();
  }

  async answer(request: Request, remoteAddress: string | null): Promise<Response> {
    const requestId = this.#world.token();
    const response = await this.#answer(request, requestId, remoteAddress).catch((error) => problem(error, requestId));
    for (const [name, value] of Object.entries(SECURITY_HEADERS)) response.headers.set(name, value);
    response.headers.set("x-request-id", requestId);
    return response;
  }

  async #answer(request: Request, requestId: string, remoteAddress: string | null): Promise<Response> {
    checkHost(request, this.#guard);
    const path = this.#pathOf(request);
    if (path === "/healthz") return json(200, { ok: true });
    if (path !== "/metrics" && !path.startsWith(`${API}/`)) return this.#static(request, path);
    checkOrigin(request, this.#guard);
    const principal = await this.#principal(request, remoteAddress);
    if (path === "/metrics") return this.#text(principal);
    if (path === `${API}/openapi.json`) {
      this.#openApi ??= openApi();
      return json(200, this.#openApi);
    }
    const again = () => this.#find(request, remoteAddress);
    return this.#api({ request, requestId, principal, again }, path.slice(API.length));
  }

  /** The prefix of the mount may have been removed by the framework. */
  #pathOf(request: Request): string {
    const { pathname } = new URL(request.url);
    const { basePath } = this;
    if (basePath === "" || (pathname !== basePath && !pathname.startsWith(`${basePath}/`))) return pathname;
    return pathname.slice(basePath.length) || "/";
  }

  async #find(request: Request, remoteAddress: string | null): Promise<Principal | null> {
    const { auth, store } = this.#options;
    if (auth) return auth(request, { store, world: this.#world, remoteAddress });
    if (remoteAddress === null) throw needsAuth("to mount it with `fetch` or `methods`");
    if (!isLoopbackAddress(remoteAddress)) throw needsAuth("to serve other machines");
    return LOCAL;
  }

  async #principal(request: Request, remoteAddress: string | null): Promise<Principal> {
    const principal = await this.#find(request, remoteAddress);
    if (principal) return principal;
    throw new ApiProblem(401, "UNAUTHENTICATED", "Show who you are: send a valid token, or sign in.");
  }

  async #static(request: Request, path: string): Promise<Response> {
    if (request.method !== "GET" && request.method !== "HEAD") {
      throw new ApiProblem(405, "METHOD_NOT_ALLOWED", "Pages are read with GET.");
    }
    const found = await assetAt(this.#page, path, this.basePath);
    if (!found) throw new ApiProblem(404, "NOT_FOUND", "There is no such file.");
    return found;
  }

  async #text(principal: Principal): Promise<Response> {
    if (!principal.may.includes("see")) {
      throw new ApiProblem(403, "FORBIDDEN", "This needs the permission see.", "see");
    }
    const text = await this.#metrics.text(this.#streams.size);
    return new Response(text, { headers: { "content-type": this.#metrics.registry.contentType, ...NEVER_STORED } });
  }
}

function basePathOf(path: string): string {
  const trimmed = path.replace(/\/+$/, "");
  if (trimmed !== "" && !/^(\/[\w.~-]+)+$/.test(trimmed)) {
    throw new InvalidInput("basePath", 'must be a path like "/ops"');
  }
  return trimmed;
}

function hostOf(url: string): string {
  if (!URL.canParse(url)) throw new InvalidInput("publicUrl", "must be a URL like https://app.example/ops");
  return new URL(url).host;
}
