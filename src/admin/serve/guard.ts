// Checks that a request comes from the page or from a script, and not from another site: Host, Origin, content type.

import { ApiProblem } from "../problem.js";

const LOOPBACK_NAMES = new Set(["localhost", "127.0.0.1", "[::1]"]);

export interface GuardOptions {
  /** Hosts with port, as in the Host header: of `publicUrl`, and those that are listed. */
  readonly hosts: ReadonlySet<string>;
  /** Whether callers are known; without `auth` only loopback is served. */
  readonly hasAuth: boolean;
}

export function isLoopbackHost(host: string): boolean {
  return LOOPBACK_NAMES.has(host.replace(/:\d+$/, "").toLowerCase());
}

export function isLoopbackAddress(address: string): boolean {
  return address === "::1" || /^(::ffff:)?127\./.test(address);
}

/** A page of another site can make a browser send requests here, but not with a Host of ours (DNS rebinding). */
export function checkHost(request: Request, { hosts }: GuardOptions): void {
  const host = (request.headers.get("host") ?? new URL(request.url).host).toLowerCase();
  if (isLoopbackHost(host) || hosts.has(host)) return;
  throw new ApiProblem(
    403,
    "HOST_REFUSED",
    "The Host of this request is not one of this server's. Set publicUrl, or list it in hosts.",
  );
}

/** For every request that is not a GET; and no API request may come from another site. */
export function checkOrigin(request: Request, options: GuardOptions): void {
  const site = request.headers.get("sec-fetch-site");
  if (site === "cross-site" || site === "same-site") throw refused("it comes from another site");
  if (request.method === "GET" || request.method === "HEAD") return;
  const type = request.headers.get("content-type")?.split(";")[0]?.trim().toLowerCase();
  if (type !== "application/json") {
    throw new ApiProblem(415, "CONTENT_TYPE", "Send Content-Type: application/json.");
  }
  if (request.headers.get("x-holdfast") !== "1") throw refused("it lacks the header x-holdfast: 1");
  const origin = request.headers.get("origin");
  if (origin !== null) {
    expectOwn(origin, request, options);
    return;
  }
  // A script sends neither header. It must show a token, unless callers are not distinguished at all.
  if (site === "same-origin" || !options.hasAuth || request.headers.has("authorization")) return;
  throw refused("it has neither an Origin nor a token");
}

function expectOwn(origin: string, request: Request, { hosts }: GuardOptions): void {
  const host = (request.headers.get("host") ?? new URL(request.url).host).toLowerCase();
  const own = URL.canParse(origin) ? new URL(origin).host.toLowerCase() : null;
  if (own === null || (own !== host && !hosts.has(own))) throw refused("its Origin is another site");
}

function refused(why: string): ApiProblem {
  return new ApiProblem(403, "ORIGIN_REFUSED", `The request is refused: ${why}.`);
}
