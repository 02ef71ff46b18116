// The event that several processes emit in the tests.

import { event } from "../../src/trigger/event.js";

export const measured = event<{ sensor: string; n: number }>()("measured");
