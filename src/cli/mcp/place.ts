// The admin API behind the tools: in this process over the database, or a dashboard at an address. Both check permissions and write
// the audit.

import { type AdminClient, AdminRefused, adminClient, dashboard, type Permission } from "../../admin/index.js";
import type { Call } from "../command.js";
import { CommandMisused, DatabaseUnreachable } from "../error.js";

export interface Place {
  readonly api: AdminClient;
  /** What the tools may do: allowed on the command line and, at a dashboard, also by the token. */
  readonly may: readonly Permission[];
  /** Undefined: the first env of the server. */
  readonly env: string | undefined;
  /** The note of a change. Where the server names the caller, as with a token, it also names the MCP client. */
  note(text: string | undefined): string | undefined;
  close(): Promise<void>;
}

export interface PlaceOptions {
  readonly may: readonly Permission[];
  /** Of approvals that may be decided; undefined: all. */
  readonly groups: readonly string[] | undefined;
  /** The name that the MCP client gives itself. */
  readonly client: () => string;
}

const TOKEN = "HOLDFAST_TOKEN";
/** The admin API in this process knows its caller by the connection; a change by a script has to show some token. */
const OWN_TOKEN = "in this process";
const OWN_ADDRESS = "http://127.0.0.1";

export function openPlace(call: Call, options: PlaceOptions): Promise<Place> {
  const { url } = call.values;
  return url !== undefined && /^https?:\/\//.test(url) ? remotePlace(call, url, options) : ownPlace(call, options);
}

async function ownPlace(call: Call, { may, groups, client }: PlaceOptions): Promise<Place> {
  const store = await call.store();
  const user = call.actor.replace(/^cli/, "mcp");
  const auth = () => ({ id: `${user}/${client()}`, may, ...(groups && { groups }) });
  const site = dashboard({ store, auth, envs: [call.env] });
  const api = adminClient({ url: OWN_ADDRESS, token: OWN_TOKEN, fetch: site.fetch });
  return { api, may, env: undefined, note: (text) => text, close: () => site.close() };
}

async function remotePlace(call: Call, url: string, { may, groups, client }: PlaceOptions): Promise<Place> {
  if (groups) throw new CommandMisused("--groups is for a database; at a dashboard the token has its groups");
  const token = call.terminal.env[TOKEN];
  const api = adminClient({ url, ...(token && { token }) });
  const session = await api.call("session.get", {}).catch((error: unknown) => {
    throw whyNot(error, hostOf(url));
  });
  // Another server may answer anything.
  if (!Array.isArray(session.may)) throw new CommandMisused(`no dashboard of Holdfast answers at ${hostOf(url)}`);
  return {
    api,
    may: may.filter((one) => session.may.includes(one)),
    env: call.values.env,
    note: (text) => [`MCP client ${client()}`, ...(text === undefined ? [] : [text])].join(": "),
    close: async () => {},
  };
}

/** Without a user and password that the address may have. */
function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : "this address";
}

function whyNot(error: unknown, host: string): Error {
  if (error instanceof AdminRefused) {
    return new CommandMisused(
      `the dashboard at ${host} refuses this: ${error.message} The token is read from ${TOKEN}`,
    );
  }
  const { message, cause } = error as { message: string; cause?: { code?: unknown } };
  const reason = typeof cause?.code === "string" ? cause.code : message;
  return new DatabaseUnreachable(`Cannot reach the dashboard at ${host}: ${reason}.`, { cause: error });
}
