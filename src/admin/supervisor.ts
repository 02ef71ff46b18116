// What a development server adds to the admin API: it started the nodes itself, so it may kill, freeze and restart them.

/** The code of the app could not be loaded. */
export interface AppProblem {
  readonly message: string;
  /** The place in the code, or the stack; empty when there is none. */
  readonly frame: string;
}

export interface DevNode {
  readonly name: string;
  /** Null while it starts. */
  readonly incarnation: string | null;
  readonly state: "starting" | "up" | "frozen" | "stopping" | "down";
}

export interface DevState {
  /** The file whose programs are served. */
  readonly app: string;
  /** Null: the last version of the code was loaded. */
  readonly problem: AppProblem | null;
  readonly nodes: readonly DevNode[];
}

/** A node is named by its incarnation and looked up among the processes that the supervisor started: no request names a process id. */
export interface Supervisor {
  state(): DevState;
  /** The name of the killed node; null: it is not one of the supervisor's running processes. */
  kill(incarnation: string): string | null;
  /** For how many milliseconds it is frozen. */
  freeze(incarnation: string): number | null;
  /** Stops the process in order, or finds it dead, and starts another one under the same name. */
  restart(incarnation: string): string | null;
}
