// The packed file itself: its entry points and their types resolve.

import { join } from "node:path";
import { PACKAGES, type Place, run } from "../place.js";

type Packed = Pick<Place, "tarball">;

const bin = (name: string) => join(PACKAGES, ".bin", name);

/** Also suggestions: there are none. */
async function publint({ tarball }: Packed): Promise<object> {
  const script = `
    import { publint } from "publint";
    import { readFile } from "node:fs/promises";
    const tarball = (await readFile(process.argv[1])).buffer;
    const { messages } = await publint({ pack: { tarball } });
    console.log(JSON.stringify(messages));`;
  const printed = await run(process.execPath, ["--input-type=module", "--eval", script, tarball]);
  const messages = JSON.parse(printed.trim().split("\n").at(-1)!);
  if (messages.length > 0) throw new TypeError(JSON.stringify(messages));
  return { messages: 0 };
}

/** For callers that are ES modules: the package has no other. */
async function types({ tarball }: Packed): Promise<object> {
  await run(bin("attw"), [tarball, "--profile", "esm-only", "--format", "json"]).catch((error) => {
    const { problems } = JSON.parse(error.stdout);
    throw new TypeError(JSON.stringify(problems).slice(0, 2_000));
  });
  return { problems: 0 };
}

export const PACKED = { publint, "are the types wrong": types };
