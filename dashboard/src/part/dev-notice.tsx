// On a development server: why the code of the app cannot be loaded, above every page.

import { useEffect } from "preact/hooks";
import { session } from "../live/api.js";
import { devState, watchDev } from "../live/dev.js";

export function DevNotice() {
  useEffect(watchDev, [session.value?.dev]);
  const problem = devState.value?.problem ?? null;
  if (problem === null) return null;
  return (
    <section class="dev-notice" aria-label="The code cannot be loaded">
      <h2>The code cannot be loaded. What runs stays.</h2>
      <p>{devState.value?.app}</p>
      <pre tabIndex={0}>{[problem.message, problem.frame].filter((text) => text !== "").join("\n")}</pre>
    </section>
  );
}
