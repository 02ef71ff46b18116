// Nights in which clocks change, and when a cron line is due around them.

export const CLOCK_CHANGES: readonly (readonly [
  name: string,
  line: string,
  zone: string,
  from: string,
  expected: readonly string[],
])[] = [
  [
    "Berlin goes forward: 02:30 is due when the gap ends",
    "30 2 * * *",
    "Europe/Berlin",
    "2026-03-28T00:00:00Z",
    ["2026-03-28T01:30Z", "2026-03-29T01:00Z", "2026-03-30T00:30Z"],
  ],
  [
    "Berlin goes back: 02:30 is due the first time",
    "30 2 * * *",
    "Europe/Berlin",
    "2026-10-24T00:00:00Z",
    ["2026-10-24T00:30Z", "2026-10-25T00:30Z", "2026-10-26T01:30Z"],
  ],
  [
    "Berlin goes back: every hour is due in both",
    "0 * * * *",
    "Europe/Berlin",
    "2026-10-24T23:30:00Z",
    ["2026-10-25T00:00Z", "2026-10-25T01:00Z", "2026-10-25T02:00Z"],
  ],
  [
    "Lord Howe goes forward by half an hour",
    "15 2 * * *",
    "Australia/Lord_Howe",
    "2026-10-02T00:00:00Z",
    ["2026-10-02T15:45Z", "2026-10-03T15:30Z", "2026-10-04T15:15Z"],
  ],
  [
    "Lord Howe goes back by half an hour",
    "45 1 * * *",
    "Australia/Lord_Howe",
    "2026-04-03T00:00:00Z",
    ["2026-04-03T14:45Z", "2026-04-04T14:45Z", "2026-04-05T15:15Z"],
  ],
  [
    "Santiago goes forward at midnight",
    "0 0 * * *",
    "America/Santiago",
    "2026-09-04T12:00:00Z",
    ["2026-09-05T04:00Z", "2026-09-06T04:00Z", "2026-09-07T03:00Z"],
  ],
  [
    "Santiago goes back at midnight",
    "30 23 * * *",
    "America/Santiago",
    "2026-04-03T12:00:00Z",
    ["2026-04-04T02:30Z", "2026-04-05T02:30Z", "2026-04-06T03:30Z"],
  ],
  [
    "New York goes forward",
    "30 2 * * *",
    "America/New_York",
    "2026-03-07T00:00:00Z",
    ["2026-03-07T07:30Z", "2026-03-08T07:00Z", "2026-03-09T06:30Z"],
  ],
  [
    "New York goes back",
    "30 1 * * *",
    "America/New_York",
    "2026-10-31T00:00:00Z",
    ["2026-10-31T05:30Z", "2026-11-01T05:30Z", "2026-11-02T06:30Z"],
  ],
  ["UTC does not care", "30 2 * * *", "UTC", "2026-03-28T12:00:00Z", ["2026-03-29T02:30Z", "2026-03-30T02:30Z"]],
];
