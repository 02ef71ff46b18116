// The frame around every page: rail, top bar, the page itself, and what lies above it.

import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { matchPath } from "./live/address.js";
import { call, needsToken, session } from "./live/api.js";
import { setClock } from "./live/clock.js";
import { address } from "./live/router.js";
import { useLive } from "./live/stream.js";
import { useRoute } from "./live/use-route.js";
import { PAGES, type PageProps } from "./pages.js";
import { AskDialog } from "./part/ask.js";
import { DevNotice } from "./part/dev-notice.js";
import { HelpDialog } from "./part/help.js";
import { Empty, Loading } from "./part/panel.js";
import { BottomBar, type Counts, Rail } from "./part/rail.js";
import { SignIn } from "./part/sign-in.js";
import { Toasts } from "./part/toast.js";
import { TopBar } from "./part/top-bar.js";

export function App() {
  useEffect(readSession, [needsToken.value]);
  const counts = useCounts();
  if (needsToken.value) return <SignIn />;
  return (
    <>
      <a class="skip" href="#main">
        Skip to the page
      </a>
      <TopBar />
      <div class="frame">
        <Rail counts={counts} />
        <main id="main" tabIndex={-1}>
          <DevNotice />
          <CurrentPage />
        </main>
      </div>
      <BottomBar counts={counts} />
      <AskDialog />
      <HelpDialog />
      <Toasts />
    </>
  );
}

function readSession(): void {
  if (needsToken.value) return;
  call("session.get", {}).then(
    (one) => {
      setClock(one.now);
      session.value = one;
    },
    () => {},
  );
}

/** What the rail shows next to its entries. */
function useCounts(): Counts | null {
  const overview = useRoute("overview.get", {}, { everyMs: 15_000 });
  const [open, setOpen] = useState<number | null>(null);
  useLive(["inbox"], (patch) => patch.kind === "inbox" && setOpen(patch.open));
  if (overview.data === null) return null;
  const { approvals, dead, nodes } = overview.data;
  return { approvals: open ?? approvals.n, dead: dead.n, alive: nodes.alive, silent: nodes.silent };
}

function CurrentPage() {
  const { path } = address.value;
  const found = PAGES.flatMap((page) => {
    const params = matchPath(page.pattern, path);
    return params ? [{ page, params }] : [];
  })[0];
  const [loaded, setLoaded] = useState<{ readonly pattern: string; readonly Shown: ComponentType<PageProps> } | null>(
    null,
  );
  const [broken, setBroken] = useState(false);
  useEffect(() => {
    document.title = `${found?.page.title ?? "Not found"} · Holdfast`;
    found?.page.load().then(
      ({ default: Shown }) => setLoaded({ pattern: found.page.pattern, Shown }),
      () => setBroken(true),
    );
  }, [found?.page]);
  if (found === undefined) return <Empty title="There is no such page." />;
  if (broken) return <Empty title="This page could not be loaded. Reload to try again." />;
  if (loaded === null || loaded.pattern !== found.page.pattern) return <Loading />;
  return <loaded.Shown key={path} params={found.params} />;
}
