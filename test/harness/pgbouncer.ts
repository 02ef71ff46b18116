// Starts PgBouncer in transaction mode in front of a database.

import { type ChildProcess, spawn } from "node:child_process";
import { chmod, chown, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";

export interface PgBouncer extends AsyncDisposable {
  /** The same database through PgBouncer. */
  readonly url: string;
  readonly port: number;
  stop(): Promise<void>;
}

export interface PgBouncerOptions {
  /** Default "transaction". */
  poolMode?: "transaction" | "session" | "statement";
  /** Connections to the server; default 10. */
  poolSize?: number;
}

const NOBODY = 65534;
const START_TIMEOUT_MS = 10_000;

/** `program` is what `needs("pgbouncer")` answered. */
export async function startPgBouncer(
  program: string,
  databaseUrl: string,
  options: PgBouncerOptions = {},
): Promise<PgBouncer> {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-pgbouncer-"));
  const target = new URL(databaseUrl);
  const port = await freePort();
  await writeFile(join(folder, "users.txt"), `"${target.username}" "${target.password}"\n`);
  await writeFile(join(folder, "pgbouncer.ini"), config(folder, target, port, options));

  // PgBouncer, like PostgreSQL, refuses to run as root.
  const account = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};
  for (const path of [folder, join(folder, "users.txt"), join(folder, "pgbouncer.ini")]) {
    await chmod(path, 0o700);
    if (account.uid !== undefined) await chown(path, account.uid, account.gid);
  }
  const child = spawn(program, ["-q", join(folder, "pgbouncer.ini")], { ...account, cwd: folder, stdio: "ignore" });
  child.on("error", () => {});

  const through = new URL(databaseUrl);
  through.hostname = "127.0.0.1";
  through.port = String(port);
  const stop = () => end(child, folder);
  try {
    await untilAnswers(child, through.href, join(folder, "pgbouncer.log"));
  } catch (error) {
    await stop();
    throw error;
  }
  return { url: through.href, port, stop, [Symbol.asyncDispose]: stop };
}

function config(folder: string, target: URL, port: number, options: PgBouncerOptions): string {
  return `[databases]
* = host=${target.hostname} port=${target.port || 5432}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = ${join(folder, "users.txt")}
logfile = ${join(folder, "pgbouncer.log")}
pool_mode = ${options.poolMode ?? "transaction"}
default_pool_size = ${options.poolSize ?? 10}
max_client_conn = 500
server_lifetime = 3600
`;
}

async function untilAnswers(child: ChildProcess, url: string, log: string): Promise<void> {
  const giveUpAt = performance.now() + START_TIMEOUT_MS;
  for (;;) {
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2_000 });
    client.on("error", () => {});
    try {
      await client.connect();
      await client.query("SELECT 1");
      return;
    } catch (cause) {
      if (child.pid === undefined || child.exitCode !== null || performance.now() > giveUpAt) {
        const text = await readFile(log, "utf8").catch(() => "no log");
        throw new TypeError(`pgbouncer did not start:\n${text}`, { cause });
      }
      await new Promise((resolve) => setTimeout(resolve, 20));
    } finally {
      await client.end().catch(() => {});
    }
  }
}

async function end(child: ChildProcess, folder: string): Promise<void> {
  if (child.pid !== undefined && child.exitCode === null && child.signalCode === null) {
    const gone = new Promise((resolve) => child.once("exit", resolve));
    // What SIGINT and SIGTERM mean changed in 1.23; it has nothing on disk that could be lost.
    child.kill("SIGKILL");
    await gone;
  }
  await rm(folder, { recursive: true, force: true });
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer();
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}
