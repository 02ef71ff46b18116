// A figure with the most that it may be.

export interface Bound {
  readonly name: string;
  readonly value: number;
  readonly most: number;
  readonly holds: boolean;
}

export function atMost(name: string, value: number, most: number): Bound {
  return { name, value: Math.round(value * 100) / 100, most, holds: value <= most };
}

export const lineOf = ({ name, value, most, holds }: Bound) =>
  `${holds ? "ok  " : "FAIL"} ${name}: ${value} (at most ${most})`;
