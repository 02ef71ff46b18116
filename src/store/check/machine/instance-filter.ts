// Checks the filters of instance lists.

import { INSTANCE_STATUSES, type InstanceFilter } from "../../contract/machine/machines.js";
import { checkObject, checkOneOf, checkText, optional, type Problem } from "../value.js";

export function checkInstanceFilter(filter: InstanceFilter): Problem {
  const statuses = filter?.statuses ?? [];
  return (
    checkObject("filter", filter) ??
    checkText("filter.env", filter.env) ??
    optional(checkText)("filter.stack", filter.stack) ??
    optional(checkText)("filter.machine", filter.machine) ??
    optional(checkText)("filter.id", filter.id) ??
    statuses.map((status) => checkOneOf("filter.statuses", status, INSTANCE_STATUSES)).find((found) => found) ??
    null
  );
}
