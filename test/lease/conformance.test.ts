// Every implementation of work claims that we ship keeps the contract, and the cases find those that do not.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { storeClaims } from "../../src/lease/store-claims.js";
import type { WorkClaims } from "../../src/lease/work-claims.js";
import { memoryStore } from "../../src/store/memory/memory-store.js";
import { openPostgres } from "../../src/store/postgres/open.js";
import { type ClaimsHarness, claimsConformance } from "../../src/testing/claims-conformance.js";
import { FakeClaims } from "../../src/testing/fake-claims.js";
import { VirtualWorld } from "../../src/testing/virtual-world.js";
import { testSchema } from "../harness/database.js";

describe("FakeClaims", () => {
  for (const { name, run } of claimsConformance) {
    test(name, () => {
      const claims = new FakeClaims();
      return run({ claims, advance: (ms) => claims.advance(ms) });
    });
  }
});

describe("memory store", () => {
  for (const { name, run } of claimsConformance) {
    test(name, () => {
      const world = new VirtualWorld();
      return run({ claims: storeClaims(memoryStore({ world }).leases, { world }), advance: (ms) => world.advance(ms) });
    });
  }
});

describe("PostgreSQL store", () => {
  const { url, schema, pool } = testSchema();
  // The database's clock, plus what the test has added: no case has to wait.
  const now = `(clock_timestamp() + (select ahead_ms from ${schema}.test_clock) * interval '1 millisecond')`;
  const store = openPostgres(url, { schema }, { now });
  beforeAll(async () => {
    await store.migrate();
    await pool.query(`create table ${schema}.test_clock as select 0::float8 as ahead_ms`);
  });
  afterAll(() => store.close());

  claimsConformance.forEach(({ name, run }, i) => {
    test(name, () =>
      run({
        claims: storeClaims(store.leases, { env: `case-${i}` }),
        advance: async (ms) => {
          await pool.query(`update ${schema}.test_clock set ahead_ms = ahead_ms + $1`, [ms]);
        },
      }),
    );
  });
});

describe("the cases find an adapter that", () => {
  const failing = async (broken: (fake: FakeClaims) => Partial<WorkClaims>) => {
    const failed: string[] = [];
    for (const { name, run } of claimsConformance) {
      const fake = new FakeClaims();
      const harness: ClaimsHarness = {
        claims: { ...onlyTheFive(fake), ...broken(fake) },
        advance: (ms) => fake.advance(ms),
      };
      await run(harness).catch(() => failed.push(name));
    }
    return failed;
  };
  const onlyTheFive = (fake: FakeClaims): WorkClaims => ({
    acquire: (...args) => fake.acquire(...args),
    renew: (...args) => fake.renew(...args),
    complete: (...args) => fake.complete(...args),
    fail: (...args) => fake.fail(...args),
    reclaimExpired: (limit) => fake.reclaimExpired(limit),
  });

  test("none, when the optional calls are left out", async () => {
    expect(await failing(() => ({}))).toEqual([]);
  });

  test("knows the holder by its name only", async () => {
    const failed = await failing((fake) => {
      const latest = new Map<string, Parameters<WorkClaims["renew"]>[3]>();
      return {
        acquire: async (key, owner, options) => {
          const answer = await fake.acquire(key, owner, options);
          if (answer.ok) latest.set(`${key} ${owner}`, answer);
          return answer;
        },
        renew: (key, owner, leaseMs, grant) => fake.renew(key, owner, leaseMs, latest.get(`${key} ${owner}`) ?? grant),
      };
    });
    expect(failed).toContain("two grants under one owner's name: the first can do nothing to the second");
  });

  test("reads before it writes", async () => {
    const failed = await failing((fake) => ({
      acquire: async (key, owner, options) => {
        const before = await fake.get(key);
        if (before?.state === "claimed") return { ok: false };
        await new Promise((resolve) => setImmediate(resolve));
        const answer = await fake.acquire(key, owner, options);
        return answer.ok ? answer : { ok: true, epoch: 1, token: "x".repeat(16), attempt: 1 };
      },
    }));
    expect(failed).toContain("eight ask for a new key at once: one gets it");
    expect(failed).toContain("eight steal at once: one gets it");
  });

  test("lists expired leases without reclaiming them", async () => {
    const failed = await failing((fake) => ({
      reclaimExpired: async () =>
        (await fake.claims()).filter(({ state }) => state === "expired").map(({ key }) => key),
    }));
    expect(failed).toEqual([
      "only expired leases that have not ended are reclaimed, oldest first, as many as asked for",
      "after it the late owner can do nothing, and the next grant is a steal",
    ]);
  });
});
