// The address of the page as a signal, and moving to another one.

import { computed, signal } from "@preact/signals";
import { type Address, fixedTimes, readAddress, withQuery, writeAddress } from "./address.js";
import { now } from "./clock.js";

/** The mount prefix with its closing slash: the built script is in `assets/` below it. */
export const mount = new URL(/* @vite-ignore */ "..", import.meta.url).pathname;

const current = () => readAddress(location.pathname, location.search, mount);
export const address = signal<Address>(current());
export const env = computed(() => address.value.query["env"]);

function show(next: Address, replace: boolean): void {
  const times = fixedTimes(next.query, now());
  const fixed = times === null ? next : { path: next.path, query: times };
  const url = writeAddress(fixed, mount);
  if (replace || times !== null) history.replaceState(null, "", url);
  else history.pushState(null, "", url);
  address.value = fixed;
}

/** `to` is below the mount, with its query; the env stays. */
export function href(to: string): string {
  const [path = "/", search = ""] = to.split("?") as [string, string?];
  const query = {
    ...(env.value !== undefined && { env: env.value }),
    ...Object.fromEntries(new URLSearchParams(search)),
  };
  return writeAddress({ path, query }, mount);
}

/** This page with other fields in its query. */
export function here(changes: Readonly<Record<string, string | null>>): string {
  return writeAddress(withQuery(address.value, changes), mount);
}

export function go(to: string): void {
  const url = new URL(href(to), location.href);
  show(readAddress(url.pathname, url.search, mount), false);
  scrollTo(0, 0);
}

/** Changes fields of the query in place. */
export function setQuery(
  changes: Readonly<Record<string, string | null>>,
  options: { readonly push?: boolean } = {},
): void {
  show(withQuery(address.value, changes), options.push !== true);
}

export function startRouter(): void {
  addEventListener("popstate", () => {
    address.value = current();
  });
  document.addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest("a") : null;
    const plain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
    if (link === null || !plain || link.hasAttribute("target") || event.defaultPrevented) return;
    // A link inside a drawing has no plain href property.
    const url = new URL(link.getAttribute("href") ?? "", location.href);
    if (url.origin !== location.origin || !url.pathname.startsWith(mount) || link.hasAttribute("download")) return;
    if (url.pathname === location.pathname && url.hash !== "") return;
    event.preventDefault();
    const samePage = url.pathname === location.pathname;
    show(readAddress(url.pathname, url.search, mount), false);
    if (samePage) return;
    scrollTo(0, 0);
    document.getElementById("main")?.focus({ preventScroll: true });
  });
  show(address.value, true);
}
