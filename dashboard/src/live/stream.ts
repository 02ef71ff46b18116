// Live updates: one stream per browser. The tab that holds a Web Lock reads it and shares it with the others.

import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { apiUrl, headers, request } from "./api.js";
import { setClock } from "./clock.js";
import { parseEvents, type StreamEvent } from "./event-stream.js";
import type { LiveEvent } from "./model.js";
import { env, mount } from "./router.js";

export type StreamState = "connecting" | "live" | "polling" | "offline";
export const streamState = signal<StreamState>("connecting");

type Patch = LiveEvent["patch"];
type Listener = (patch: Patch) => void;
type Note =
  | { readonly kind: "topics"; readonly tab: string; readonly topics: readonly string[] }
  | { readonly kind: "event"; readonly event: string; readonly data: string }
  | { readonly kind: "state"; readonly state: StreamState }
  | { readonly kind: "who" };

const HIDDEN_MS = 30_000;
/** A stream that lives shorter than this did not work; after three of them the page polls. */
const SHORT_MS = 5_000;
const SHORT_STREAMS = 3;
const TAB_LOST_MS = 90_000;

const tab = Math.random().toString(36).slice(2);
const listeners = new Map<string, Set<Listener>>();
const wanted = new Map<string, { readonly topics: readonly string[]; readonly at: number }>();
/** Tabs of one mount and one env share a stream; a change of the env loads the page again. */
const shared = `holdfast.live ${mount} ${env.value ?? ""}`;
const channel = "BroadcastChannel" in globalThis ? new BroadcastChannel(shared) : null;
let leads = false;
let connection: string | null = null;
let hidden = false;

/** Calls back with every patch of these topics while the component is shown. */
export function useLive(topics: readonly string[], listener: Listener): void {
  const id = topics.join(" ");
  useEffect(() => {
    for (const topic of topics) listeners.set(topic, new Set([...(listeners.get(topic) ?? []), listener]));
    tellTopics();
    return () => {
      for (const topic of topics) {
        listeners.get(topic)?.delete(listener);
        if (listeners.get(topic)?.size === 0) listeners.delete(topic);
      }
      tellTopics();
    };
  }, [id]);
}

const POLL_MS = 3_000;

/** Reads at intervals while no stream gets through. */
export function usePolling(read: () => void): void {
  const polls = streamState.value === "polling";
  const latest = useRef(read);
  latest.current = read;
  useEffect(() => {
    if (!polls) return undefined;
    const timer = setInterval(() => document.visibilityState === "visible" && latest.current(), POLL_MS);
    return () => clearInterval(timer);
  }, [polls]);
}

export function startStream(): void {
  channel?.addEventListener("message", ({ data }) => hear(data as Note));
  setInterval(tellTopics, 30_000);
  watchVisibility();
  if (navigator.locks) {
    void navigator.locks.request(shared, lead);
    channel?.postMessage({ kind: "who" } satisfies Note);
  } else {
    void lead();
  }
}

function watchVisibility(): void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  document.addEventListener("visibilitychange", () => {
    clearTimeout(timer);
    if (document.visibilityState === "visible") setHidden(false);
    else timer = setTimeout(() => setHidden(true), HIDDEN_MS);
  });
}

function setHidden(value: boolean): void {
  hidden = value;
  tellTopics();
}

function hear(note: Note): void {
  if (note.kind === "event") dispatch(note.event, note.data);
  else if (note.kind === "state" && !leads) streamState.value = note.state;
  else if (note.kind === "topics" && leads) want(note.tab, note.topics);
  else if (note.kind === "who" && leads) setState(streamState.value);
}

function setState(state: StreamState): void {
  streamState.value = state;
  channel?.postMessage({ kind: "state", state } satisfies Note);
}

let told: ReturnType<typeof setTimeout> | undefined;
/** Soon, because a page adds its topics one after the other. */
function tellTopics(): void {
  clearTimeout(told);
  told = setTimeout(() => {
    const topics = hidden ? [] : [...listeners.keys()];
    if (leads) want(tab, topics);
    else channel?.postMessage({ kind: "topics", tab, topics } satisfies Note);
  }, 20);
}

function want(from: string, topics: readonly string[]): void {
  const before = allTopics().join(" ");
  wanted.set(from, { topics, at: Date.now() });
  for (const [other, { at }] of wanted) if (other !== tab && Date.now() - at > TAB_LOST_MS) wanted.delete(other);
  if (allTopics().join(" ") !== before) void sendTopics();
}

function allTopics(): readonly string[] {
  return [...new Set([...wanted.values()].flatMap(({ topics }) => topics))].sort().slice(0, 50);
}

async function sendTopics(): Promise<void> {
  if (connection === null) return;
  try {
    await request("POST", "/live/:connection/topics", { connection, topics: allTopics() });
  } catch {
    // The stream's own end reports a lost connection.
  }
}

/** Runs as long as this tab leads: until it is closed. */
async function lead(): Promise<void> {
  leads = true;
  let short = 0;
  let lastId: string | null = null;
  tellTopics();
  for (;;) {
    const begun = Date.now();
    try {
      lastId = await readStream(lastId);
    } catch {
      // Reported by the state below.
    }
    connection = null;
    short = Date.now() - begun < SHORT_MS ? short + 1 : 0;
    setState(short >= SHORT_STREAMS ? "polling" : "connecting");
    await new Promise((next) => setTimeout(next, short >= SHORT_STREAMS ? 30_000 : 500 * 2 ** short));
  }
}

async function readStream(lastId: string | null): Promise<string | null> {
  const search = env.value === undefined ? "" : `?${new URLSearchParams({ env: env.value })}`;
  const response = await fetch(apiUrl(`/live${search}`), {
    headers: { ...headers(false), ...(lastId !== null && { "last-event-id": lastId }) },
  });
  if (!response.ok || response.body === null) return lastId;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  let last = lastId;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return last;
    const { events, rest } = parseEvents(text + value);
    text = rest;
    for (const event of events) last = take(event) ?? last;
  }
}

function take({ event, data, id }: StreamEvent): string | null {
  if (event === "hello") {
    const hello = JSON.parse(data) as LiveEvent["hello"];
    connection = hello.connection;
    setClock(hello.now);
    setState("live");
    void sendTopics();
  } else {
    dispatch(event, data);
    channel?.postMessage({ kind: "event", event, data } satisfies Note);
  }
  return id;
}

function dispatch(event: string, data: string): void {
  if (event === "gone") {
    // Not at once: a topic that the server does not know would be sent in a loop.
    setTimeout(() => void sendTopics(), 2_000);
    return;
  }
  if (event !== "patch") return;
  const patch = JSON.parse(data) as Patch;
  for (const listener of listeners.get(patch.topic) ?? []) listener(patch);
}
