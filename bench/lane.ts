// `npm run bench -- lane`: the commit lane, claims and enqueues against the same machine without batching.

import { randomUUID } from "node:crypto";
import pg from "pg";
import { Committer } from "../src/engine/committer.js";
import type { NewRun } from "../src/kernel/run/new-run.js";
import { systemWorld } from "../src/kernel/system-world.js";
import type { ClaimedRun } from "../src/store/contract/run/runs.js";
import type { PostgresStore } from "../src/store/postgres/index.js";
import { openPostgres } from "../src/store/postgres/open.js";
import { interleave, median, type Ratio, rate } from "./measure.js";
import { oneCommitPerStep, oneRowCommits } from "./one-row-commits.js";

const STEPS = 10;
const PAYLOAD = { codec: "json", data: '{"value":"twenty"}..' };
const GROUP = { env: "bench", stack: null, queue: "bench", program: "bench", version: null };
const world = systemWorld();

export interface Figure {
  readonly name: string;
  readonly needs: number;
  readonly ratio: Ratio;
  readonly ours: number;
  readonly theirs: number;
  readonly unit: string;
}

export async function benchLane(url: string, options: { quick: boolean; say: (line: string) => void }) {
  const bench = await Bench.open(url);
  const pairs = options.quick ? 3 : 9;
  const size = options.quick ? 0.25 : 1;
  const figures: Figure[] = [];
  const add = async (
    name: string,
    unit: string,
    needs: number,
    ours: () => Promise<number>,
    theirs: () => Promise<number>,
  ) => {
    await ours();
    await theirs();
    const result = await interleave(pairs, ours, theirs);
    const figure = { name, unit, needs, ratio: result.ratio, ours: median(result.ours), theirs: median(result.theirs) };
    figures.push(figure);
    options.say(line(figure));
  };
  const rows = () => bench.oneRow(Math.round(8000 * size));
  try {
    for (const [inFlight, needs] of [
      [50, 1.4],
      [200, 2.4],
    ] as const) {
      const runs = Math.round(2000 * size);
      await add(
        `10-step runs, ${inFlight} in flight, against one commit per step`,
        "steps/s",
        needs,
        () => bench.lane(runs, inFlight),
        () => bench.perStep(runs, inFlight),
      );
    }
    await add(
      "claim + complete of no-op jobs, against one-row commits",
      "jobs/s",
      2,
      () => bench.jobs(Math.round(10_000 * size)),
      rows,
    );
    await add(
      "enqueue, single calls at concurrency 50, against one-row commits",
      "runs/s",
      0.5,
      () => bench.enqueueSingle(Math.round(8000 * size)),
      rows,
    );
    await add(
      "enqueue, batches of 1,000, against one-row commits",
      "runs/s",
      5,
      () => bench.enqueueBatch(Math.round(20_000 * size)),
      rows,
    );
    await bench.claimsUnderLoad(options.quick, pairs, async (name, ratio, ours, theirs) => {
      const figure = { name, unit: "claims/s", needs: 0.8, ratio, ours, theirs };
      figures.push(figure);
      options.say(line(figure));
    });
  } finally {
    await bench.close();
  }
  return { ok: figures.every((figure) => figure.ratio.median >= figure.needs), figures };
}

function line({ name, ratio, needs, ours, theirs, unit }: Figure): string {
  const holds = ratio.median >= needs ? "ok  " : "FAIL";
  return `${holds} ${name}: ${ratio.median} × (${ratio.low}–${ratio.high}, needs ${needs}); ${Math.round(ours)} against ${Math.round(theirs)} ${unit}`;
}

class Bench {
  readonly #url: string;
  readonly #pool: pg.Pool;
  #store!: PostgresStore;
  #schema = "";
  #group = 0;

  static async open(url: string): Promise<Bench> {
    const bench = new Bench(url);
    await bench.#fresh();
    return bench;
  }

  private constructor(url: string) {
    this.#url = url;
    this.#pool = new pg.Pool({ connectionString: url, max: 50 });
    // The server is stopped right after the last measurement.
    this.#pool.on("error", () => {});
  }

  /** A schema of its own for every measurement: neither side inherits the other's dead rows. */
  async #fresh(): Promise<void> {
    await this.#drop();
    this.#schema = `bench_${randomUUID().slice(0, 8)}`;
    this.#store = openPostgres(this.#url, { schema: this.#schema });
    await this.#store.migrate();
    [this.#group] = (await this.#store.runs.groupIds([GROUP])) as [number];
    await this.#pool.query(`create table ${this.#schema}.bench_rows (id uuid primary key, data text)`);
  }

  async #drop(): Promise<void> {
    await this.#store?.close();
    if (this.#schema) await this.#pool.query(`drop schema ${this.#schema} cascade`);
  }

  async close(): Promise<void> {
    await this.#drop();
    await this.#pool.end();
  }

  async #fill(total: number): Promise<void> {
    for (let i = 0; i < total; i += 1000) await this.#store.runs.insert(newRuns(Math.min(1000, total - i)));
    await this.#pool.query(`vacuum analyze ${this.#schema}.runs`);
    await this.#pool.query("checkpoint").catch(() => {});
  }

  async oneRow(total: number): Promise<number> {
    await this.#fresh();
    return rate(() => oneRowCommits(this.#pool, this.#schema, total, 50));
  }

  async perStep(runs: number, inFlight: number): Promise<number> {
    await this.#fresh();
    await this.#fill(runs);
    return rate(() => oneCommitPerStep(this.#pool, this.#schema, { runs, steps: STEPS, inFlight }));
  }

  /** Claim, ten steps, completion: through the store and the committer, one process. */
  async lane(runs: number, inFlight: number): Promise<number> {
    await this.#fresh();
    await this.#fill(runs);
    const committer = new Committer(this.#store.runs, world);
    const owner = world.token();
    let active = 0;
    let done = 0;
    let claiming = false;
    return rate(
      () =>
        new Promise<number>((resolve, reject) => {
          const fill = async () => {
            if (claiming) return;
            claiming = true;
            // One turn: the completions of one flush come together.
            for (await world.turn(); inFlight - active >= inFlight / 10; await world.turn()) {
              const claimed = await this.#store.runs.claim(this.#request(owner, inFlight - active));
              if (claimed.length === 0) break;
              active += claimed.length;
              for (const run of claimed) work(run).catch(reject);
            }
            claiming = false;
          };
          const work = async (run: ClaimedRun) => {
            const writer = committer.open(run, run.seq);
            for (let i = 1; i <= STEPS; i++) {
              await writer.commit([{ kind: "append", entry: { kind: "step", name: `step${i}`, payload: PAYLOAD } }]);
            }
            await writer.commit([{ kind: "complete", output: PAYLOAD }]);
            active--;
            done++;
            if (done === runs) resolve(runs * STEPS);
            else fill().catch(reject);
          };
          fill().catch(reject);
        }),
    );
  }

  #request(owner: string, limit: number) {
    return { owner, token: world.token(), groupIds: [this.#group], limit, leaseMs: 60_000 };
  }

  async jobs(total: number): Promise<number> {
    await this.#fresh();
    await this.#fill(total);
    const owner = world.token();
    let left = total;
    const worker = async () => {
      while (left > 0) {
        const claimed = await this.#store.runs.claim(this.#request(owner, 250));
        if (claimed.length === 0) return;
        left -= claimed.length;
        await this.#store.runs.commit(
          claimed.map((claim) => ({ claim, expectedSeq: claim.seq, effects: [{ kind: "complete", output: PAYLOAD }] })),
        );
      }
    };
    return rate(async () => {
      await Promise.all([worker(), worker()]);
      return total;
    });
  }

  async enqueueSingle(total: number): Promise<number> {
    await this.#fresh();
    let left = total;
    return rate(async () => {
      await Promise.all(
        Array.from({ length: 50 }, async () => {
          while (left-- > 0) await this.#store.runs.insert(newRuns(1));
        }),
      );
      return total;
    });
  }

  async enqueueBatch(total: number): Promise<number> {
    await this.#fresh();
    return rate(async () => {
      for (let i = 0; i < total; i += 1000) await this.#store.runs.insert(newRuns(1000));
      return total;
    });
  }

  /** The same claims on an empty table, behind a million finished runs, and in front of 200,000 waiting ones. */
  async claimsUnderLoad(
    quick: boolean,
    pairs: number,
    report: (name: string, ratio: Ratio, ours: number, theirs: number) => Promise<void>,
  ): Promise<void> {
    const empty = await Bench.open(this.#url);
    const finished = await Bench.open(this.#url);
    const waiting = await Bench.open(this.#url);
    const [ended, queued] = quick ? [100_000, 20_000] : [1_000_000, 200_000];
    try {
      await finished.#pour(ended, "completed");
      await waiting.#pour(queued, "waiting");
      for (const [name, loaded] of [
        [`claims with ${ended} finished runs, against an empty table`, finished],
        [`claims with ${queued} waiting runs, against an empty table`, waiting],
      ] as const) {
        await loaded.#claims();
        await empty.#claims();
        const result = await interleave(
          pairs,
          () => loaded.#claims(),
          () => empty.#claims(),
        );
        await report(name, result.ratio, median(result.ours), median(result.theirs));
      }
    } finally {
      for (const bench of [empty, finished, waiting]) await bench.close();
    }
  }

  /** With ids in the order of time, as the library draws them: random ones would scatter each claim over the whole index. */
  async #pour(total: number, state: "completed" | "waiting"): Promise<void> {
    const s = this.#schema;
    await this.#pool.query(
      `insert into ${s}.runs (id, claim_group, priority, state, available_at, crash_limit, created_at, ended_at)
       select (lpad(to_hex(${Date.now() - 3_600_000} + i / 10), 12, '0') || '7' || lpad(to_hex(i % 10), 3, '0') || '8' || substr(md5(i::text), 1, 15))::uuid,
         $2, 0, $3, now() + i * interval '1 us' - interval '1 hour', 5, now(), case when $3 = 'completed' then now() end
       from generate_series(1, $1::int) i`,
      [total, this.#group, state],
    );
    await this.#pool.query(
      `insert into ${s}.journal (run_id, seq, epoch, kind, name, codec, data, at)
       select id, 1, 0, 'start', 'bench', 'json', '{}', now() from ${s}.runs`,
    );
    await this.#pool.query(`vacuum analyze ${s}.runs`);
  }

  /** 40 claims of 50 runs each, released before the next measurement. */
  async #claims(): Promise<number> {
    const missing = 2000 - ((await this.#store.runs.count({ env: "bench" })).waiting ?? 0);
    if (missing > 0) await this.#fill(missing);
    const owner = world.token();
    const held: ClaimedRun[] = [];
    const perSecond = await rate(async () => {
      for (let i = 0; i < 40; i++) held.push(...(await this.#store.runs.claim(this.#request(owner, 50))));
      return held.length;
    });
    for (let i = 0; i < held.length; i += 500) {
      await this.#store.runs.commit(
        held.slice(i, i + 500).map((claim) => ({ claim, expectedSeq: claim.seq, effects: [{ kind: "handBack" }] })),
      );
    }
    await this.#pool.query(`vacuum ${this.#schema}.runs`);
    return perSecond;
  }
}

function newRuns(total: number): NewRun[] {
  return Array.from({ length: total }, () => ({
    id: world.id(),
    group: GROUP,
    priority: 0,
    delayMs: 0,
    crashLimit: 5,
    input: PAYLOAD,
  }));
}
