// Replaces `holdfast/embedded` while examples are tested: the server of the test run, and a database of the example's own
// that ends as a server does, with all its connections. The real one has its own tests and the demonstration.

import pg from "pg";

export async function startEmbedded() {
  const url = process.env["HOLDFAST_EXAMPLE_URL"]!;
  const stop = async () => {
    const { pathname, href } = new URL(url);
    const server = new pg.Client({ connectionString: href.replace(pathname, "/postgres") });
    await server.connect();
    await server.query(`drop database if exists ${pathname.slice(1)} with (force)`);
    await server.end();
  };
  return { url, stop, [Symbol.asyncDispose]: stop };
}
