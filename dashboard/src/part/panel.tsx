// A titled part of a page: shows loading, empty and error states, keeps old data greyed when the server is away, and catches what breaks.

import { Component, type ComponentChildren } from "preact";
import { clockTime } from "../draw/words.js";
import type { ApiRefusal } from "../live/api.js";
import type { Loaded } from "../live/use-route.js";

interface PanelProps {
  readonly title?: ComponentChildren;
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
  readonly label?: string;
  readonly class?: string;
}

export function Panel({ title, actions, children, label, class: extra = "" }: PanelProps) {
  return (
    <section class={`panel ${extra}`} aria-label={label ?? (typeof title === "string" ? title : undefined)}>
      {(title !== undefined || actions !== undefined) && (
        <header class="panel-head">
          <h2>{title}</h2>
          <div class="actions">{actions}</div>
        </header>
      )}
      <Caught>{children}</Caught>
    </section>
  );
}

/** Draws the data, or what there is instead. */
export function Show<T>({
  of,
  empty,
  children,
}: {
  readonly of: Loaded<T>;
  /** Shown instead when it says that there is nothing. */
  readonly empty?: { readonly when: (data: T) => boolean; readonly show: ComponentChildren };
  readonly children: (data: T) => ComponentChildren;
}) {
  if (of.data === null) return of.error ? <Problem error={of.error} retry={of.reload} /> : <Loading />;
  const stale = of.error !== null;
  return (
    <>
      {stale && <Stale error={of.error as ApiRefusal} at={of.at} retry={of.reload} />}
      <div class={stale ? "is-stale" : undefined}>{empty?.when(of.data) ? empty.show : children(of.data)}</div>
    </>
  );
}

export function Loading() {
  return (
    <div class="loading" role="status">
      <span class="bone" />
      <span class="bone" />
      <span class="bone" />
      <span class="sr">Loading</span>
    </div>
  );
}

function Stale({
  error,
  at,
  retry,
}: {
  readonly error: ApiRefusal;
  readonly at: number | null;
  readonly retry: () => void;
}) {
  return (
    <p class="notice is-warn" role="status">
      {error.message} What you see is from {at === null ? "before" : `${clockTime(at)} UTC`}.{" "}
      <button type="button" class="link" onClick={retry}>
        Try again
      </button>
    </p>
  );
}

export function Problem({ error, retry }: { readonly error: ApiRefusal; readonly retry?: () => void }) {
  const lacks = error.permission === null ? "" : ` It needs the permission ${error.permission}.`;
  return (
    <div class="problem" role="alert">
      <p>
        <strong>
          {error.status === 404 ? "Not found." : error.status === 403 ? "Not allowed." : "This could not be read."}
        </strong>{" "}
        {error.message}
        {lacks}
      </p>
      <p class="muted">
        {error.code}
        {error.requestId !== null && ` · request ${error.requestId}`}
      </p>
      {retry && error.status !== 403 && (
        <button type="button" class="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}

export function Empty({ title, children }: { readonly title: string; readonly children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children}
    </div>
  );
}

/** One broken panel leaves the rest of the page alone. */
class Caught extends Component<{ readonly children: ComponentChildren }, { readonly broken: string | null }> {
  override state = { broken: null };

  static override getDerivedStateFromError(error: unknown) {
    return { broken: error instanceof Error ? error.message : String(error) };
  }

  override render() {
    if (this.state.broken === null) return this.props.children;
    return (
      <div class="problem" role="alert">
        <p>
          <strong>This part of the page broke.</strong> {this.state.broken}
        </p>
        <button type="button" class="button" onClick={() => this.setState({ broken: null })}>
          Draw it again
        </button>
      </div>
    );
  }
}
