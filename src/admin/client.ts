// A typed client of the admin API: each route by its name, with the types of the route table.

import { HoldfastError } from "../kernel/error.js";
import { ADDRESSES } from "./addresses.js";
import type { ApiError, InputOf, OutputOf, RouteName } from "./api.js";

/** Options of `adminClient`. */
export interface AdminClientOptions {
  /** Where the dashboard is mounted, like `https://app.example/ops`. */
  readonly url: string;
  /** A token of the admin API: `hf_…`. */
  readonly token?: string;
  /** Sends a request. @default the global `fetch` */
  readonly fetch?: (request: Request) => Promise<Response>;
}

/** An answer of the admin API that is an error. */
export class AdminRefused extends HoldfastError {
  /** The code of the answer, such as `FORBIDDEN`. */
  readonly code: string;
  /** The HTTP status of the answer. */
  readonly status: number;
  /** Names the request in the logs of the server; null when the answer had none. */
  readonly requestId: string | null;

  constructor(status: number, { code, message, requestId }: Partial<ApiError>) {
    super(message ?? `The admin API answered ${status}.`);
    this.code = code ?? "ADMIN_REFUSED";
    this.status = status;
    this.requestId = requestId ?? null;
  }
}

/** All but the stream, which is read and not answered. */
type Callable = Exclude<RouteName, "live.open">;

/** A typed client of the admin API. */
export interface AdminClient {
  /** `idempotencyKey`: a change that was sent without an answer is repeated safely with it. */
  call<Name extends Callable>(
    name: Name,
    input: InputOf<Name>,
    options?: { readonly idempotencyKey?: string },
  ): Promise<OutputOf<Name>>;
}

/** Creates a client of the admin API: `call(route, input)` with the types of each route. */
export function adminClient({
  url,
  token,
  fetch: send = (request) => fetch(request),
}: AdminClientOptions): AdminClient {
  const base = url.replace(/\/+$/, "");
  return {
    async call(name, input, { idempotencyKey } = {}) {
      const [method, path] = ADDRESSES[name].split(" ") as [string, string];
      const left: Record<string, unknown> = { ...(input as object) };
      const filled = path.replace(/:(\w+)/g, (_, field: string) => {
        const value = left[field];
        delete left[field];
        return encodeURIComponent(String(value));
      });
      const isRead = method === "GET" || method === "DELETE";
      const query = isRead ? queryOf(left) : "";
      const response = await send(
        new Request(`${base}/api/v1${filled}${query}`, {
          method,
          headers: {
            accept: "application/json",
            "x-holdfast": "1",
            ...(isRead ? {} : { "content-type": "application/json" }),
            ...(token !== undefined && { authorization: `Bearer ${token}` }),
            ...(idempotencyKey !== undefined && { "idempotency-key": idempotencyKey }),
          },
          ...(isRead ? {} : { body: JSON.stringify(left) }),
        }),
      );
      const answer: unknown = await response.json().catch(() => ({}));
      if (!response.ok) throw new AdminRefused(response.status, answer as Partial<ApiError>);
      return answer as never;
    },
  };
}

function queryOf(fields: Readonly<Record<string, unknown>>): string {
  const known = Object.entries(fields).filter(([, value]) => value !== undefined);
  const query = new URLSearchParams(Object.fromEntries(known.map(([name, value]) => [name, String(value)])));
  return known.length === 0 ? "" : `?${query}`;
}
