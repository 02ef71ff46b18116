// `holdfast store`: reads and writes the long-term store of graphs.

import { openGraphs } from "../../client-place.js";
import { type Call, defineCommand, type Options, type Report } from "../../command.js";
import { CommandMisused } from "../../error.js";
import { LIMIT_OPTION, limitOf, parseJson } from "../../options.js";
import { visible } from "../../text/visible.js";

const OPTIONS = {
  put: { type: "string", value: "JSON", description: "write this value under KEY" },
  remove: { type: "boolean", description: "remove KEY" },
  after: { type: "string", value: "KEY", description: "list keys after this one" },
  limit: LIMIT_OPTION,
} as const satisfies Options;

export const store = defineCommand({
  name: "store",
  takes: ["SPACE", "[KEY]"],
  summary: "read or write the long-term store of graphs",
  details: "Without KEY, lists the space. These are the values of `ctx.store`.",
  options: OPTIONS,
  run: useStore,
});

async function useStore(call: Call<typeof OPTIONS>): Promise<Report> {
  const [space, key] = call.arguments as [string, string | undefined];
  const { values } = call;
  const put = values.put;
  const changes = put !== undefined || values.remove === true;
  if (changes && key === undefined) throw new CommandMisused("--put and --remove need KEY");
  if (put !== undefined && values.remove) throw new CommandMisused("--put and --remove cannot be combined");
  const kept = (await openGraphs(call)).store;
  if (put !== undefined) await kept.put(space, key!, parseJson(put, "--put", `'{"like": "this"}'`));
  if (values.remove) await kept.delete(space, key!);
  if (changes)
    return {
      text: `${visible(space)} ${visible(key!)} was ${put === undefined ? "removed" : "written"}.\n`,
      json: { space, key },
    };
  if (key !== undefined) {
    const value = await kept.get(space, key);
    const text = JSON.stringify(value) ?? `${space} has no value under ${key} in env ${call.env}.`;
    return { text: `${visible(text)}\n`, json: { space, key, value: value ?? null } };
  }
  const after = values.after;
  const rows = await kept.list(space, { limit: limitOf(values), ...(after !== undefined && { after }) });
  const text = rows.map((row) => `${visible(row.key)}  ${visible(JSON.stringify(row.value))}\n`).join("");
  return { text: text || `${visible(space)} has no values in env ${call.env}.\n`, json: { space, values: rows } };
}
