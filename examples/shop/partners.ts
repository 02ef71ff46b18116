// The shop's partners: a warehouse and a bank. Each call takes a while, and a repeated key has no further effect.

import { setTimeout as sleep } from "node:timers/promises";
import { pool } from "./database.js";

export interface Order {
  id: string;
  customer: string;
  item: string;
  cents: number;
}

export const warehouse = {
  reserve: (order: Order, key: string) => call("reserve", order, key),
  release: (order: Order, key: string) => call("release", order, key),
  ship: (order: Order, key: string) => call("ship", order, key),
};

export const bank = {
  charge: (order: Order, key: string) => call("charge", order, key),
  refund: (order: Order, key: string) => call("refund", order, key),
};

/** A partner acts once for each key and counts how often it was asked. */
async function call(what: string, { id, customer }: Order, key: string): Promise<string> {
  const text = `insert into partner_calls (key, what, order_id, customer) values ($1, $2, $3, $4)
    on conflict (key) do update set times = partner_calls.times + 1`;
  await pool.query(text, [key, what, id, customer]);
  await sleep(150);
  return `${what} ${id}`;
}
