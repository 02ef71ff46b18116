// Wraps an object of the client so that each of its calls moves the test's time until it is answered.

import { RunHandle } from "../../client/run-handle.js";
import { Instance } from "../../machine/instance.js";
import type { Driver } from "./driver.js";

/** What a driven call answers, made into what the test gets. */
export type Convert = (handle: RunHandle<unknown>) => object;

export function driven<T extends object>(target: T, driver: Driver, convert: Convert): T {
  const answer = (value: unknown): unknown => {
    if (value instanceof RunHandle) return convert(value);
    if (value instanceof Instance) return driven(value, driver, convert);
    if (Array.isArray(value)) return value.map(answer);
    const run = isPlain(value) ? value["run"] : undefined;
    if (run instanceof RunHandle) return { ...(value as object), run: convert(run) };
    return value;
  };
  const result = (value: unknown): unknown => {
    if (value instanceof Promise) return driver.drive(value).then(answer);
    if (isGenerator(value)) return drivenGenerator(value, driver);
    return answer(value);
  };
  return new Proxy(target, {
    get(of, name) {
      const value: unknown = Reflect.get(of, name, of);
      if (typeof value !== "function") return value;
      return (...args: unknown[]) => result(Reflect.apply(value, of, args));
    },
  });
}

function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

function isGenerator(value: unknown): value is AsyncGenerator<unknown> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}

async function* drivenGenerator(generator: AsyncGenerator<unknown>, driver: Driver): AsyncGenerator<unknown> {
  try {
    for (;;) {
      const { value, done } = await driver.drive(generator.next());
      if (done) return value;
      yield value;
    }
  } finally {
    await generator.return(undefined);
  }
}
