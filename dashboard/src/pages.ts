// Every page: its address, its title, and how its code is loaded.

import type { ComponentType } from "preact";

export interface PageProps {
  readonly params: Readonly<Record<string, string>>;
}

export interface Page {
  readonly pattern: string;
  readonly title: string;
  readonly load: () => Promise<{ readonly default: ComponentType<PageProps> }>;
}

export const PAGES: readonly Page[] = [
  { pattern: "/", title: "Overview", load: () => import("./page/overview.js") },
  { pattern: "/runs", title: "Runs", load: () => import("./page/runs.js") },
  { pattern: "/runs/:id", title: "Run", load: () => import("./page/run.js") },
  { pattern: "/nodes", title: "Nodes", load: () => import("./page/nodes.js") },
  { pattern: "/nodes/:node", title: "Node", load: () => import("./page/node.js") },
  { pattern: "/approvals", title: "Approvals", load: () => import("./page/approvals.js") },
  { pattern: "/dead", title: "Dead letters", load: () => import("./page/dead.js") },
  { pattern: "/queues", title: "Queues & limits", load: () => import("./page/queues.js") },
  { pattern: "/queues/:queue", title: "Queue", load: () => import("./page/queues.js") },
  { pattern: "/schedules", title: "Schedules", load: () => import("./page/schedules.js") },
  { pattern: "/triggers", title: "Triggers", load: () => import("./page/triggers.js") },
  { pattern: "/machines", title: "Machines", load: () => import("./page/machines.js") },
  { pattern: "/machines/:machine/:instance", title: "Instance", load: () => import("./page/instance.js") },
  { pattern: "/timers", title: "Timers", load: () => import("./page/timers.js") },
  { pattern: "/leases", title: "Leases", load: () => import("./page/leases.js") },
  { pattern: "/programs", title: "Programs", load: () => import("./page/programs.js") },
  { pattern: "/programs/:program", title: "Program", load: () => import("./page/program.js") },
  { pattern: "/audit", title: "Audit", load: () => import("./page/audit.js") },
  { pattern: "/settings", title: "Settings", load: () => import("./page/settings.js") },
  { pattern: "/doctor", title: "Doctor", load: () => import("./page/doctor.js") },
];
