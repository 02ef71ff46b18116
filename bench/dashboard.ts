// `npm run bench -- dashboard`: what the dashboard costs to install, to open and to leave open, with a million runs in the store.

import { atMost, type Bound, lineOf } from "./dashboard-bound.js";
import { benchFresh } from "./dashboard-fresh.js";
import { benchInstall } from "./dashboard-install.js";
import { benchMillion } from "./dashboard-million.js";
import type { PartOptions } from "./parts.js";

/** `--only=install`, `million` or `fresh` measures one of the three. */
export async function benchDashboard(url: string, options: PartOptions) {
  const bounds: Bound[] = [];
  const add = (one: Bound) => {
    bounds.push(one);
    options.say(lineOf(one));
  };
  const wants = (name: string) => options.only === undefined || options.only === name;
  if (wants("install")) await benchInstall(add);
  if (wants("million")) await benchMillion(url, options, add);
  if (wants("fresh"))
    add(atMost("npm install and npm start, to the first completed run on screen, s", await benchFresh(options), 60));
  return { ok: bounds.every(({ holds }) => holds), bounds };
}
