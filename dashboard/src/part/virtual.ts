// Rows that exist only while they are near the window: a hook over TanStack's virtualizer, scrolled by the page itself.

import { observeWindowOffset, observeWindowRect, Virtualizer, windowScroll } from "@tanstack/virtual-core";
import { useLayoutEffect, useState } from "preact/hooks";

export function useVirtualRows(count: number, options: { readonly rowHeight: number; readonly top: number }) {
  const [, redraw] = useState(0);
  const settings = {
    count,
    getScrollElement: () => window,
    estimateSize: () => options.rowHeight,
    overscan: 12,
    scrollMargin: options.top,
    observeElementRect: observeWindowRect,
    observeElementOffset: observeWindowOffset,
    scrollToFn: windowScroll,
    initialOffset: () => window.scrollY,
    onChange: () => redraw((n) => n + 1),
  };
  const [virtualizer] = useState(() => new Virtualizer<Window, Element>(settings));
  virtualizer.setOptions(settings);
  useLayoutEffect(() => virtualizer._didMount(), []);
  useLayoutEffect(() => virtualizer._willUpdate());
  return virtualizer;
}
