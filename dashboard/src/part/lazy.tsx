// A component whose code is loaded when it is first shown.

import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Empty, Loading } from "./panel.js";

export function lazyPart<Props extends object>(
  load: () => Promise<{ readonly default: ComponentType<Props> }>,
): ComponentType<Props> {
  return function Lazy(props: Props) {
    const [Loaded, setLoaded] = useState<ComponentType<Props> | null>(null);
    const [broken, setBroken] = useState(false);
    useEffect(() => {
      load().then(
        ({ default: Part }) => setLoaded(() => Part),
        () => setBroken(true),
      );
    }, []);
    if (broken) return <Empty title="This part could not be loaded. Reload to try again." />;
    return Loaded === null ? <Loading /> : <Loaded {...props} />;
  };
}
