// Which routes take the env that is being looked at. A test compares it with the route table, which refuses unknown fields.

/** Ids of runs, tokens and connections are unique over all envs; a bulk action has the env in its filter. */
const WITHOUT_ENV = ["/session", "/runs/:id", "/bulk/", "/tokens", "/live/"];

export function takesEnv(path: string): boolean {
  return !WITHOUT_ENV.some((start) => path.startsWith(start));
}
