// A TCP proxy in front of PostgreSQL that loses requests and replies, stalls, delays and resets.

import { connect, createServer, type Socket } from "node:net";
import { isSslRequest, ServerStream } from "./pg-stream.js";
import { type ProxyMode, Pump } from "./pump.js";

export interface FaultProxy extends AsyncDisposable {
  readonly port: number;
  /** How many connections pass through at this moment. */
  readonly connectionCount: number;
  /** May be set at any time; applies to open connections too. A black hole holds bytes, like a network that is gone. */
  mode: ProxyMode;
  /** Whether new connections are reset at once, as by a server that has no place for them or a network that rejects. */
  refusing: boolean;
  /** The same database through the proxy. */
  url(originalUrl: string): string;
  /** Resets (RST) every open connection, both sides. */
  resetAll(): void;
  /** May be set at any time; what it refuses is reset (RST), open connections and new ones. */
  refuse: Refused;
  /**
   * The unanswered COMMIT: the next request that matches reaches the server and is carried out to its ReadyForQuery,
   * the client gets no answer and is reset. Resolves when that has happened. `request` is all the client has sent since
   * the last ReadyForQuery; without `match` the next request of any connection that has logged in is taken.
   */
  loseNextReply(match?: RequestMatch): Promise<void>;
  /** The next request that matches never reaches the server, and both sides are reset. */
  loseNextRequest(match?: RequestMatch): Promise<void>;
  stop(): Promise<void>;
}

export type RequestMatch = (request: Buffer) => boolean;
/** "presence": only the connection on which a node holds its session lock. */
export type Refused = "none" | "presence" | "all";

/** A fault that waits for its request. */
interface Trap {
  readonly loses: "reply" | "request";
  readonly match: RequestMatch;
  readonly done: () => void;
}

interface Context {
  refuse?: Refused;
  readonly target: { host: string; port: number };
  readonly traps: Trap[];
  mode: ProxyMode;
  refusing: boolean;
}

/** The statement by which a node's presence connection is recognised; no other connection sends it. */
const TAKES_SESSION_LOCK = /pg_(try_)?advisory_lock\b/;
const TERMINATE = "X".charCodeAt(0);

export async function startProxy(target: { host: string; port: number }): Promise<FaultProxy> {
  const context: Context = { target, traps: [], mode: "pass", refusing: false };
  const connections = new Set<ProxiedConnection>();
  const server = createServer((client) => {
    client.on("error", () => {});
    if (context.refusing) return void client.resetAndDestroy();
    const connection = new ProxiedConnection(client, context, () => connections.delete(connection));
    connections.add(connection);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const port = (server.address() as { port: number }).port;

  const resetAll = () => {
    for (const connection of [...connections]) connection.reset();
  };
  const setTrap = (loses: Trap["loses"], match: RequestMatch = () => true) =>
    new Promise<void>((done) => {
      context.traps.push({ loses, match, done });
    });
  const stop = async () => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    resetAll();
    await closed;
  };
  return {
    port,
    get connectionCount() {
      return connections.size;
    },
    get mode() {
      return context.mode;
    },
    set mode(mode) {
      context.mode = mode;
      for (const connection of connections) connection.run();
    },
    get refusing() {
      return context.refusing;
    },
    set refusing(refusing) {
      context.refusing = refusing;
    },
    url(originalUrl) {
      const url = new URL(originalUrl);
      url.hostname = "127.0.0.1";
      url.port = String(port);
      return url.href;
    },
    resetAll,
    get refuse() {
      return context.refuse ?? "none";
    },
    set refuse(refuse) {
      context.refuse = refuse;
      for (const connection of [...connections]) if (connection.refused) connection.reset();
    },
    loseNextReply: (match) => setTrap("reply", match),
    loseNextRequest: (match) => setTrap("request", match),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

class ProxiedConnection {
  readonly #client: Socket;
  readonly #server: Socket;
  readonly #context: Context;
  readonly #toServer: Pump;
  readonly #toClient: Pump;
  readonly #replies = new ServerStream();
  #loggedIn = false;
  #holdsPresence = false;
  #request: Buffer[] = [];
  #swallowing: Trap | null = null;

  constructor(client: Socket, context: Context, onClose: () => void) {
    this.#client = client;
    this.#context = context;
    this.#server = connect(context.target);
    this.#toServer = new Pump(
      () => context.mode,
      (chunk) => this.#forwardToServer(chunk),
    );
    this.#toClient = new Pump(
      () => context.mode,
      (chunk) => this.#forwardToClient(chunk),
    );
    for (const [socket, pump] of [
      [this.#client, this.#toServer],
      [this.#server, this.#toClient],
    ] as const) {
      socket.setNoDelay(true);
      socket.on("data", (chunk) => pump.push(chunk));
      socket.on("end", () => pump.push(null));
      // A reset, too, is delivered only when the network passes bytes.
      socket.on("error", () => (context.mode === "pass" ? this.reset() : pump.push(null)));
      socket.on("close", () => {
        if (this.#client.destroyed && this.#server.destroyed) onClose();
      });
    }
  }

  get refused(): boolean {
    const { refuse } = this.#context;
    return refuse === "all" || (refuse === "presence" && this.#holdsPresence);
  }

  run(): void {
    this.#toServer.run();
    this.#toClient.run();
  }

  reset(): void {
    this.#toServer.discard();
    this.#toClient.discard();
    // A socket that is still connecting cannot send a reset. Nor can one that has sent its FIN: Node 20 then leaks its
    // handle, and the process spins for ever when it exits.
    for (const socket of [this.#client, this.#server]) {
      if (socket.connecting || socket.writableEnded) socket.destroy();
      else socket.resetAndDestroy();
    }
  }

  #forwardToServer(chunk: Buffer | null): void {
    if (chunk === null) return void this.#server.end();
    this.#holdsPresence ||= TAKES_SESSION_LOCK.test(chunk.toString("latin1"));
    if (this.refused) return void this.reset();
    if (!this.#loggedIn && isSslRequest(chunk)) this.#replies.expectLoneByte();
    const trap = this.#loggedIn && chunk[0] !== TERMINATE ? this.#springTrap(chunk) : null;
    if (trap?.loses === "request") {
      this.reset();
      trap.done();
      return;
    }
    this.#swallowing ??= trap;
    this.#server.write(chunk);
  }

  #springTrap(chunk: Buffer): Trap | null {
    this.#request.push(chunk);
    const { traps } = this.#context;
    if (traps.length === 0) return null;
    const request = Buffer.concat(this.#request);
    const index = traps.findIndex((trap) => trap.match(request));
    return index < 0 ? null : traps.splice(index, 1)[0]!;
  }

  #forwardToClient(chunk: Buffer | null): void {
    if (chunk === null) return void this.#client.end();
    const ready = this.#replies.push(chunk);
    const lost = this.#swallowing;
    if (ready > 0) {
      this.#loggedIn = true;
      this.#request = [];
      if (lost !== null) {
        this.reset();
        lost.done();
      }
    }
    if (lost === null) this.#client.write(chunk);
  }
}
