// Serves node:http, Express, Connect and Fastify with a function from Request to Response.

import type { IncomingMessage, ServerResponse } from "node:http";
import { Readable } from "node:stream";

/** Frameworks that parse bodies leave them here; Express leaves the whole address in `originalUrl`. */
export type NodeRequest = IncomingMessage & { readonly body?: unknown; readonly originalUrl?: string };
export type NodeHandler = (request: NodeRequest, response: ServerResponse) => Promise<void>;

export function nodeHandler(
  answer: (request: Request, remoteAddress: string | null) => Promise<Response>,
): NodeHandler {
  return async (incoming, outgoing) => {
    const ended = new AbortController();
    // The request may have been read before it came here: a disconnect shows on the response.
    outgoing.on("close", () => ended.abort());
    const response = await answer(requestOf(incoming, ended.signal), incoming.socket.remoteAddress ?? null);
    outgoing.writeHead(response.status, Object.fromEntries(response.headers));
    if (response.body === null || incoming.method === "HEAD") {
      outgoing.end();
      return;
    }
    await pump(response.body, outgoing, ended.signal);
  };
}

function requestOf(incoming: NodeRequest, signal: AbortSignal): Request {
  const { method = "GET", headers } = incoming;
  const host = headers.host ?? "localhost";
  const sent = new Headers();
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined && !name.startsWith(":")) sent.set(name, Array.isArray(value) ? value.join(", ") : value);
  }
  const path = incoming.originalUrl ?? incoming.url ?? "/";
  const address = URL.canParse(`http://${host}${path}`) ? `http://${host}${path}` : "http://localhost/";
  const body = method === "GET" || method === "HEAD" ? null : bodyOf(incoming);
  const streaming = body === null ? {} : { body, duplex: "half" as const };
  return new Request(address, { method, headers: sent, signal, ...streaming });
}

type Body = NonNullable<NonNullable<ConstructorParameters<typeof Request>[1]>["body"]>;

function bodyOf(incoming: NodeRequest): Body {
  const { body } = incoming;
  if (body === undefined || !incoming.readableEnded) return Readable.toWeb(incoming) as unknown as Body;
  return typeof body === "string" || Buffer.isBuffer(body) ? (body as Body) : JSON.stringify(body);
}

/** Waits for a slow reader, and stops reading when the connection has ended. */
async function pump(body: ReadableStream<Uint8Array>, outgoing: ServerResponse, ended: AbortSignal): Promise<void> {
  const reader = body.getReader();
  const stop = () => void reader.cancel().catch(() => {});
  if (ended.aborted) return stop();
  ended.addEventListener("abort", stop, { once: true });
  for (;;) {
    const { done, value } = await reader.read().catch(() => ({ done: true as const, value: undefined }));
    if (done) break;
    if (!outgoing.write(value)) await new Promise((resolve) => outgoing.once("drain", resolve).once("close", resolve));
  }
  outgoing.end();
}
