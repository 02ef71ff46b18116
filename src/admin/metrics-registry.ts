// The registry that an application may bring for the metrics.

/** A registry of prom-client, by its shape: the package shows no types of libraries that it bundles. */
export interface MetricsRegistry {
  /** The type of the text. */
  readonly contentType: string;
  /** The figures as text. */
  metrics(): Promise<string>;
}
