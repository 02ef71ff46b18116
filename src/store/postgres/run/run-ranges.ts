// The ranges of an index in which a page of runs is looked for, in the order of ids, and which of them is the shortest.

import { ENDED_STATES, RUN_STATES, type RunState } from "../../../kernel/run/run-state.js";
import type { RunFilter } from "../../contract/run/runs.js";
import type { Database } from "../connection/database.js";
import { query } from "../connection/dialect.js";
import { oneOf } from "../connection/rowset.js";
import { FILTERS, type Where, whereOf } from "./run-filter.js";

/** In the index runs_history, and in runs_kept. */
const ENDS: readonly RunState[] = [...ENDED_STATES, "quarantined"];
const KEPT: readonly RunState[] = ["held", "blocked", "paused"];
/** The expression must be the index's own, to the letter. */
const listed = ({ archived = false }: RunFilter) =>
  `r.ended_at < 'infinity' and (case when r.archived_at is null then 0 else 1 end) = ${archived ? 1 : 0}`;
const texts = (states: readonly RunState[]) => states.map((state) => `'${state}'`).join(", ");

/**
 * Where a page is looked for: among the newest runs, in the indexes of each state, in that of an attribute (its number in the
 * filter), or by what few runs have.
 */
export type Way = "newest" | "state" | "owner" | "few" | { readonly attribute: number };

/** The newest runs that are looked at before the indexes: a page of 50 is filled if one run in twenty fits. */
const NEWEST = 1_000;

export interface Place {
  readonly s: string;
  readonly filter: RunFilter;
  readonly where: Where;
  readonly most: string;
  /** The condition that ids in this column are behind the page before. */
  readonly behind: (id: string) => string;
}

/** Rows of runs, ordered by their ids. */
export function rangesOf(place: Place, by: Exclude<Way, "owner" | "few">): string {
  const { where } = place;
  const last = `order by r.id desc ${place.most}`;
  if (by === "newest") return `(${newest(place)} ${last})`;
  const ranges = by === "state" ? byState(place, where.runs()) : byAttribute(place, by.attribute);
  return `(select * from (${ranges}) r ${last})`;
}

/** Those that fit among the newest runs. Bounded before anything else is judged: a filter that fits none reads no more. */
function newest({ s, where, behind }: Place): string {
  const groups = `select g.id from ${s}.claim_groups g where ${where.groups}`;
  const range = ["true", ...where.range("r.id")].join(" and ");
  return `select * from (
    select * from ${s}.runs r where ${range}${behind("r.id")} order by r.id desc limit ${NEWEST}
  ) r where ${oneOf("r.claim_group", groups)} and ${where.runs()}`;
}

/**
 * Those that fit, from ranges in the order of ids: of each state that a run ends in. Runs that have not ended are few in comparison:
 * those of a state are read whole.
 */
function byState({ s, filter, where, behind, most }: Place, also: string): string {
  const groups = `select g.id from ${s}.claim_groups g where ${where.groups}`;
  const asked = RUN_STATES.filter((state) => filter.states?.includes(state) ?? true);
  const of = (condition: string) => `select r.* from ${s}.runs r where ${condition} and ${also}${behind("r.id")}`;
  const inIndex = (condition: string) => `(${of(`r.claim_group = g.id and ${condition}`)} order by r.id desc ${most})`;
  const ended = asked.filter((state) => ENDS.includes(state));
  // One part for all of them: a part for each takes the planner longer than the server needs to read them.
  const ofEnded = `select y.* from unnest(array[${texts(ended)}]) as e(state) cross join lateral ${inIndex(`r.state = e.state and ${listed(filter)}`)} y`;
  const ofGroup = [
    ...(ended.length > 0 ? [ofEnded] : []),
    ...(asked.some((state) => KEPT.includes(state)) ? [inIndex(`r.state in (${texts(KEPT)})`)] : []),
    // Not in the order of ids: asked for a few of them in that order, the planner goes down the primary key.
    ...(asked.includes("waiting") ? [of("r.claim_group = g.id and r.state = 'waiting'")] : []),
  ];
  // No index has these by group.
  const held = asked.filter((state) => state === "running" || state === "parked");
  return [
    ...(ofGroup.length > 0 ? [ofEachGroup(s, where, ofGroup.join(" union all "))] : []),
    ...held.map((state) => of(`r.state = '${state}' and ${oneOf("r.claim_group", groups)}`)),
  ].join(" union all ");
}

function byAttribute({ s, where, behind, most }: Place, nth: number): string {
  const id = "a.run_id";
  const range = ["a.claim_group = g.id", where.attributes[nth]!, ...where.range(id)].join(" and ");
  return ofEachGroup(
    s,
    where,
    `select r.* from ${s}.run_attributes a
    cross join lateral (select * from ${s}.runs r where r.id = a.run_id and ${where.runs(nth)} limit 1) r
    where ${range}${behind(id)} order by ${id} desc ${most}`,
  );
}

const ofEachGroup = (s: string, { groups }: Where, rows: string) =>
  `select x.* from ${s}.claim_groups g cross join lateral (${rows}) x where ${groups}`;

interface SizesAsked {
  readonly filter: RunFilter;
  /** Rows of a range that are counted. */
  readonly most: number;
}

/** At first, and when no range is shorter. A walk along the second number, with a look-up for each, takes 80 ms. */
const COUNTED = [1_000, 10_000] as const;

/** In the order of the filter's attributes, then of the states. */
const sizeRanges = query<SizesAsked>({
  name: "size_run_ranges",
  purpose: "Counts, up to a bound, the runs that each condition of a list would have to look at.",
  text({ schema: s }, { filter, most }) {
    const where = whereOf(s, filter);
    const none = () => "";
    const ofAttribute = where.attributes.map((one) =>
      ofEachGroup(
        s,
        where,
        `select from ${s}.run_attributes a where ${["a.claim_group = g.id", one, ...where.range("a.run_id")].join(" and ")}`,
      ),
    );
    const place = { s, filter, where, most: `limit ${most}`, behind: none };
    const ofStates = walksStates(filter) ? [byState(place, where.own)] : [];
    const counted = (rows: string) => `(select count(*)::int from (select from (${rows}) x limit ${most}) y)`;
    return {
      text: `select array[${[...ofAttribute, ...ofStates].map(counted).join(", ")}] as sizes`,
      values: where.values,
    };
  },
  samples: { "failed, with attributes": { filter: FILTERS["failed, with attributes"]!, most: COUNTED[0] } },
});

const walksStates = ({ states, archived }: RunFilter) => archived === true || (states?.length ?? 0) > 0;

/**
 * Of what is asked for with attributes, the condition that the fewest runs fulfil: the others are judged for each of these. Walked along
 * the first attribute, a list of failed runs read 150,000 others (170 ms).
 */
async function smallestRange(db: Database, filter: RunFilter): Promise<Way> {
  const attributes = Object.keys(filter.attributes!);
  if (attributes.length === 1 && !walksStates(filter)) return { attribute: 0 };
  let sizes: readonly number[] = [];
  for (const most of COUNTED) {
    const [row] = await db.runInOrder<{ sizes: readonly number[] }, SizesAsked>(sizeRanges, { filter, most });
    sizes = row!.sizes;
    if (Math.min(...sizes) < most) break;
  }
  // Of those that were not counted to their end, the states: most runs complete, so the others are rarer than they look.
  const least = sizes.lastIndexOf(Math.min(...sizes));
  return least < attributes.length ? { attribute: least } : "state";
}

/** Where a page is looked for, and where then if it is not full: this is not left to the planner, which sorted 100,000 runs (500 ms). */
export async function waysOf(db: Database, filter: RunFilter): Promise<readonly Way[]> {
  const { owner, archived, keyPrefix, parent, deferred, attributes, states } = filter;
  if ((owner ?? null) !== null) return ["owner"];
  if ((keyPrefix ?? null) !== null || (parent ?? null) !== null || deferred) return ["few"];
  if (attributes && Object.keys(attributes).length > 0) return [await smallestRange(db, filter)];
  if (states?.length === 0) return ["newest"];
  if (archived || states?.every((state) => ENDS.includes(state))) return ["state"];
  return ["newest", "state"];
}
