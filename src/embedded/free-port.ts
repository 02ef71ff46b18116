// Finds a free TCP port on the loopback address.

import { createServer } from "node:net";

/**
 * The preferred port if it is free, otherwise any. Another process may take it before the server does: the caller tries
 * again.
 */
export async function freePort(preferred: number | null): Promise<number> {
  if (preferred !== null) {
    const same = await tryListen(preferred).catch(() => null);
    if (same !== null) return same;
  }
  return tryListen(0);
}

function tryListen(port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen({ host: "127.0.0.1", port, exclusive: true }, () => {
      const address = server.address();
      const found = typeof address === "object" && address !== null ? address.port : port;
      server.close(() => resolve(found));
    });
  });
}
