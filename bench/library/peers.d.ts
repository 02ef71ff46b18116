// The part of the peers' interfaces that the adapters use, so that the type check needs none of them installed.

declare module "graphile-worker" {
  interface JobOptions {
    readonly runAt?: Date;
  }
  type AddJob = (identifier: string, payload: unknown, options?: JobOptions) => Promise<unknown>;
  export interface JobHelpers {
    readonly addJob: AddJob;
  }
  export class Logger {
    constructor(factory: () => () => void);
  }
  export interface WorkerUtils {
    migrate(): Promise<void>;
    addJob: AddJob;
    addJobs(jobs: readonly { readonly identifier: string; readonly payload: unknown }[]): Promise<unknown>;
    release(): Promise<void>;
  }
  export function makeWorkerUtils(options: object): Promise<WorkerUtils>;
  export function run(options: object): Promise<{ stop(): Promise<void> }>;
}

declare module "pg-boss" {
  export interface Job {
    readonly id: string;
    readonly name: string;
    readonly data: { readonly input?: string | number | null; readonly dueAt?: number } | null;
  }
  export default class PgBoss {
    constructor(options: object);
    on(event: "error", listener: () => void): void;
    start(): Promise<unknown>;
    stop(options: object): Promise<void>;
    createQueue(name: string): Promise<void>;
    send(name: string, data: object, options?: object): Promise<string | null>;
    insert(jobs: readonly object[]): Promise<void>;
    fetch(name: string, options: object): Promise<Job[] | null>;
    complete(name: string, ids: readonly string[]): Promise<unknown>;
    work(name: string, options: object, handler: (jobs: Job[]) => Promise<unknown>): Promise<string>;
    offWork(name: string): Promise<void>;
  }
}

declare module "openworkflow" {
  type Value = string | number | null;
  interface Step {
    run<T>(config: { readonly name: string }, work: () => Promise<T>): Promise<T>;
    sleep(name: string, duration: string): Promise<void>;
  }
  interface Context {
    readonly input: Value;
    readonly run: { readonly id: string };
    readonly step: Step;
  }
  export class OpenWorkflow {
    constructor(options: { readonly backend: object });
    defineWorkflow(
      spec: { readonly name: string },
      work: (context: Context) => Promise<unknown>,
    ): { run(input: Value): Promise<unknown> };
    newWorker(options: { readonly concurrency: number }): { start(): Promise<void>; stop(): Promise<void> };
  }
}

declare module "openworkflow/postgres" {
  export class BackendPostgres {
    static connect(url: string, options: { readonly schema: string }): Promise<BackendPostgres>;
    stop(): Promise<void>;
  }
}

declare module "@dbos-inc/dbos-sdk" {
  type Value = string | number | null;
  export const DBOS: {
    registerWorkflow(work: (input: Value) => Promise<unknown>, options: { readonly name: string }): unknown;
    runStep<T>(work: () => Promise<T>, options: { readonly name: string }): Promise<T>;
    sleep(ms: number): Promise<void>;
    migrate(url: string, options: { readonly schemaName: string }): Promise<void>;
    setConfig(config: object): void;
    launch(): Promise<void>;
    shutdown(options: object): Promise<void>;
    registerQueue(name: string, options: object): Promise<unknown>;
  };
  export class DBOSClient {
    static create(options: object): Promise<DBOSClient>;
    enqueue(options: object, input: Value): Promise<unknown>;
    destroy(): Promise<void>;
  }
}
