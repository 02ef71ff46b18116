// Triggers and the input they pass: what compiles and what does not. The compiler is the test.

import { cron, event, every, on, workflow } from "../../src/index.js";

type Is<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const is = <_T extends true>() => {};
interface Resource {
  readonly kind: "disk" | "cpu";
  readonly resourceId: string;
  readonly used: number;
  readonly place: { readonly zone: string };
}

const updated = event<Resource>()("resource.updated");
export const nightly = workflow(
  "nightly",
  { on: [cron("0 2 * * *", { timezone: "Europe/Berlin", catchUp: "last" })] },
  async (_ctx, tick) => {
    is<Is<typeof tick.type, "cron">>();
    return tick.window;
  },
);
export const monitor = workflow(
  "monitor",
  {
    on: [
      on(updated, {
        where: { kind: "disk", place: { zone: { in: ["a", "b"] } } },
        subject: "resourceId",
        debounce: "5s",
      }),
      cron("0 * * * *"),
      every("5m"),
    ],
  },
  async (_ctx, input) => {
    is<Is<typeof input.type, "resource.updated" | "cron" | "every">>();
    if (input.type === "resource.updated") {
      is<Is<typeof input.used, number>>();
      return input.used;
    }
    is<Is<typeof input.window, string>>();
    // @ts-expect-error: a tick has no payload
    return input.used;
  },
);
// @ts-expect-error: a field that the event does not have
on(updated, { where: { kidn: "disk" } });
// @ts-expect-error: a value that the field cannot have
on(updated, { where: { kind: "tape" } });
// @ts-expect-error: a path that the payload does not have
on(updated, { subject: "resource" });
// @ts-expect-error: not a duration
every("often");
