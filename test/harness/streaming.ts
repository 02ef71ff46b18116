// PostgreSQL servers that stream to each other: a primary, a replica made by a file copy, a promotion.
// The embedded package has no pg_basebackup: the copy is made between pg_backup_start and pg_backup_stop.

import { type ChildProcess, spawn } from "node:child_process";
import { chmod, chown, copyFile, mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { findBinaries, resolveWithNode } from "../../src/embedded/find-binaries.js";
import { choosePlace } from "../../src/embedded/place.js";
import { runProgram } from "../../src/embedded/run-program.js";
import { type UsableBinaries, usableBinaries } from "../../src/embedded/usable-binaries.js";

const START_TIMEOUT_MS = 30_000;
/** Of another server's run, or of sessions that end with the copy. */
const NOT_COPIED = [
  "postmaster.pid",
  "postmaster.opts",
  "pg_wal",
  "pg_replslot",
  "pg_stat_tmp",
  "pg_notify",
  "pg_subtrans",
];

interface Account {
  readonly uid: number;
  readonly gid: number;
}

/** The folder of the servers, and their binaries. */
export class ServerYard {
  readonly #folder: string;
  readonly #binaries: UsableBinaries;
  readonly #account: Account | null;
  readonly #servers: StreamingServer[] = [];

  private constructor(folder: string, binaries: UsableBinaries, account: Account | null) {
    this.#folder = folder;
    this.#binaries = binaries;
    this.#account = account;
  }

  static async open(): Promise<ServerYard> {
    const folder = await mkdtemp(join(tmpdir(), "holdfast-streaming-"));
    await chmod(folder, 0o711);
    const place = await choosePlace({
      dataDir: join(folder, "place"),
      refuge: "/var/lib/holdfast",
      onNotice: () => {},
    });
    const binaries = await usableBinaries(await findBinaries(resolveWithNode), place, crypto.randomUUID());
    return new ServerYard(folder, binaries, place.account);
  }

  /** `initdb`: more of its options; `settings`: of the server. */
  async primary(name: string, more: { initdb?: string[]; settings?: string[] } = {}): Promise<StreamingServer> {
    const data = await this.#dataFolder(name);
    const args = [
      `--pgdata=${data}`,
      "--username=postgres",
      "--auth=trust",
      "--encoding=UTF8",
      "--locale=C",
      "--no-sync",
      ...(more.initdb ?? []),
    ];
    const options = { account: this.#account, cwd: this.#folder, env: this.#binaries.env };
    const { code, output } = await runProgram(this.#binaries.initdb, args, options);
    if (code !== 0) throw new TypeError(`initdb failed:\n${output}`);
    return this.#start(data, more.settings);
  }

  /** A server that has ended, on the same data and port. */
  again(server: StreamingServer): Promise<StreamingServer> {
    return this.#start(server.data, server.settings, server.port);
  }

  /** The files of a server that has ended, as they are: a backup. */
  async copy(of: StreamingServer, name: string): Promise<string> {
    const data = await this.#dataFolder(name);
    await copyFolder(of.data, data, ["postmaster.pid"]);
    await giveTo(data, this.#account);
    return data;
  }

  /** The server again, on the files of a backup. */
  restored(server: StreamingServer, data: string): Promise<StreamingServer> {
    return this.#start(data, server.settings);
  }

  /** A folder that the servers may write to. */
  async folder(name: string): Promise<string> {
    return this.#dataFolder(name);
  }

  get account(): Account | null {
    return this.#account;
  }

  /** A copy that streams from the given address; it serves reads, and writes once it is promoted. */
  async replica(name: string, of: StreamingServer, from: { readonly port: number } = of): Promise<StreamingServer> {
    const data = await this.#dataFolder(name);
    const client = await of.client();
    await client.query("select pg_create_physical_replication_slot($1, true)", [name]);
    await client.query("select pg_backup_start($1, true)", [name]);
    await copyFolder(of.data, data, NOT_COPIED);
    const { rows } = await client.query("select labelfile from pg_backup_stop(false)");
    await client.end();
    await writeFile(join(data, "backup_label"), rows[0].labelfile);
    await writeFile(join(data, "standby.signal"), "");
    for (const folder of NOT_COPIED.filter((one) => !one.startsWith("postmaster"))) {
      await mkdir(join(data, folder), { recursive: true });
    }
    await mkdir(join(data, "pg_wal", "archive_status"), { recursive: true });
    const address = `host=127.0.0.1 port=${from.port} user=postgres application_name=${name}`;
    const settings = [
      `primary_conninfo = '${address}'`,
      `primary_slot_name = '${name}'`,
      "synchronous_standby_names = ''",
    ];
    await writeFile(join(data, "postgresql.auto.conf"), `${settings.join("\n")}\n`);
    await giveTo(data, this.#account);
    const replica = await this.#start(data);
    await of.untilStreamsTo(name);
    return replica;
  }

  async closeServers(): Promise<void> {
    await Promise.all(this.#servers.map((server) => server.crash()));
  }

  async close(): Promise<void> {
    await this.closeServers();
    await rm(this.#folder, { recursive: true, force: true, maxRetries: 3 });
  }

  async #dataFolder(name: string): Promise<string> {
    const data = join(this.#folder, name);
    await mkdir(data, { mode: 0o700 });
    if (this.#account) await chown(data, this.#account.uid, this.#account.gid);
    return data;
  }

  async #start(data: string, more: readonly string[] = [], known?: number): Promise<StreamingServer> {
    const port = known ?? (await freePort());
    const settings = [
      "listen_addresses=127.0.0.1",
      "unix_socket_directories=",
      "max_connections=200",
      "max_wal_size=1GB",
      ...more,
    ];
    const args = ["-D", data, "-p", String(port), ...settings.flatMap((setting) => ["-c", setting])];
    const { env, postgres } = this.#binaries;
    const child = spawn(postgres, args, { ...this.#account, cwd: this.#folder, env, stdio: "ignore" });
    const server = new StreamingServer(data, port, child, more);
    this.#servers.push(server);
    await server.untilAnswers();
    return server;
  }
}

export class StreamingServer {
  readonly data: string;
  readonly port: number;
  readonly settings: readonly string[];
  readonly #child: ChildProcess;

  constructor(data: string, port: number, child: ChildProcess, settings: readonly string[]) {
    this.data = data;
    this.port = port;
    this.settings = settings;
    this.#child = child;
    child.on("error", () => {});
    process.once("exit", () => child.kill("SIGQUIT"));
  }

  get url(): string {
    return `postgres://postgres@127.0.0.1:${this.port}/postgres`;
  }

  async client(): Promise<pg.Client> {
    const client = new pg.Client({ connectionString: this.url });
    client.on("error", () => {});
    await client.connect();
    return client;
  }

  async query<Row extends object>(text: string, values: unknown[] = []): Promise<Row[]> {
    const client = await this.client();
    try {
      return (await client.query<Row>(text, values)).rows;
    } finally {
      await client.end().catch(() => {});
    }
  }

  /** From now on a commit is acknowledged when the replica has it, too. */
  async waitForReplica(): Promise<void> {
    await this.query("alter system set synchronous_standby_names = '*'");
    await this.query("select pg_reload_conf()");
    await until(
      async () => (await this.query("select from pg_stat_replication where sync_state = 'sync'")).length === 1,
    );
  }

  untilStreamsTo(name: string): Promise<void> {
    const text = "select from pg_stat_replication where application_name = $1 and state = 'streaming'";
    return until(async () => (await this.query(text, [name])).length === 1);
  }

  async promote(): Promise<void> {
    await this.query("select pg_promote(true, 30)");
  }

  get hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  /** At once: nothing is written on the way out. */
  async crash(): Promise<void> {
    if (this.hasEnded) return;
    const gone = new Promise((resolve) => this.#child.once("exit", resolve));
    this.#child.kill("SIGQUIT");
    await gone;
  }

  untilAnswers(): Promise<void> {
    return until(async () => {
      if (this.#child.exitCode !== null) throw new TypeError(`the server of ${this.data} did not start`);
      return this.query("select 1").then(
        () => true,
        () => false,
      );
    });
  }
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  const giveUpAt = performance.now() + START_TIMEOUT_MS;
  while (!(await holds())) {
    if (performance.now() > giveUpAt) throw new TypeError("a server of the pair is not as expected after 30 s");
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}

/** Files may vanish during the copy: the replica replays their removal from the log. */
async function copyFolder(from: string, to: string, except: readonly string[]): Promise<void> {
  await mkdir(to, { recursive: true, mode: 0o700 });
  for (const entry of await readdir(from, { withFileTypes: true })) {
    if (except.includes(entry.name)) continue;
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) await copyFolder(source, target, []);
    else await copyFile(source, target).catch(ignoreMissing);
  }
}

function ignoreMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== "ENOENT") throw error;
}

async function giveTo(folder: string, account: Account | null): Promise<void> {
  if (account === null) return;
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  for (const entry of entries) await chown(join(entry.parentPath, entry.name), account.uid, account.gid);
  await chown(folder, account.uid, account.gid);
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
