// The icons of the page: strokes in a 16 × 16 box, drawn for it.

const PATHS: Readonly<Record<string, string>> = {
  overview: "M2 13V9M6 13V5M10 13V8M14 13V3",
  approvals: "M3 3h10v7H8l-3 3v-3H3zM5.5 6.5l1.5 1.5 3-3",
  dead: "M4 4l8 8M12 4l-8 8",
  runs: "M2 4h3M7 4h7M2 8h3M7 8h7M2 12h3M7 12h7",
  queues: "M2 3h12M4 7h8M6 11h4",
  schedules: "M8 4.5V8l2.5 1.5M14 8A6 6 0 1 1 2 8a6 6 0 0 1 12 0z",
  triggers: "M9 1.5 3.5 9H8l-1 5.5L12.500 7H8z",
  machines: "M2 3h5v4H2zM9 9h5v4H9zM4.500 7v4H9",
  timers: "M6 1.500h4M8 5v4M13 9A5 5 0 1 1 3 9a5 5 0 0 1 10 0z",
  nodes: "M2 3h12v4H2zM2 9h12v4H2zM4.500 5h.1M4.500 11h.1",
  leases: "M5 7V5a3 3 0 0 1 6 0v2M3.500 7h9v6.500h-9z",
  programs: "M5.500 4 2 8l3.500 4M10.500 4 14 8l-3.500 4",
  audit: "M4 2h8v12H4zM6 5h4M6 8h4M6 11h2",
  settings: "M2 5h7M13 5h1M2 11h1M7 11h7M11 3.200v3.600M5 9.200v3.600",
  search: "M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10zM10.600 10.600 14 14",
  theme: "M8 14A6 6 0 1 0 8 2zM8 2a6 6 0 0 0 0 12",
  more: "M3 8h.1M8 8h.1M13 8h.1",
  close: "M4 4l8 8M12 4l-8 8",
  copy: "M6 6h7.500v7.500H6zM10 6V2.500H2.500V10H6",
  back: "M9.500 3 4.500 8l5 5",
  open: "M6 3l5 5-5 5",
  plus: "M8 3v10M3 8h10",
};

export function Icon({ name, size = 16 }: { readonly name: string; readonly size?: number }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" width={size} height={size} aria-hidden="true" focusable="false">
      <path d={PATHS[name] ?? ""} />
    </svg>
  );
}
