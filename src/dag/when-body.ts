// Rules as data: parses "always", { "anySucceeded": ["a", "b"] }, { "and": [ … ] } of a definition into the rules of
// when.ts.

import { InvalidInput } from "../kernel/error.js";
import { fields, textsField } from "../kernel/fields.js";
import { allSucceeded, always, and, anySucceeded, noneFailed, not, or, type Rule } from "./when.js";

const OVER_NEEDS = { allSucceeded, anySucceeded, noneFailed };
const NAMES = ["always", ...Object.keys(OVER_NEEDS)];
const KINDS = [...Object.keys(OVER_NEEDS), "and", "or", "not"];

export function ruleOf(path: string, body: unknown): Rule {
  if (body === "always") return always;
  if (typeof body === "string" && isOverNeeds(body)) return OVER_NEEDS[body]();
  if (typeof body === "string") throw new InvalidInput(path, `must be one of ${NAMES.join(", ")}, or an object`);
  const given = fields(path, body, KINDS);
  const [kind, ...more] = Object.keys(given);
  if (kind === undefined || more.length > 0) throw new InvalidInput(path, `must have one of ${KINDS.join(", ")}`);
  const inside = `${path}.${kind}`;
  if (isOverNeeds(kind)) return OVER_NEEDS[kind](textsField(inside, given[kind], "needs")) as Rule;
  if (kind === "not") return not(ruleOf(inside, given[kind]));
  const rules = given[kind];
  if (!Array.isArray(rules)) throw new InvalidInput(inside, "must be a list of rules");
  return (kind === "and" ? and : or)(...rules.map((one, i) => ruleOf(`${inside}[${i}]`, one)));
}

function isOverNeeds(name: string): name is keyof typeof OVER_NEEDS {
  return Object.hasOwn(OVER_NEEDS, name);
}
