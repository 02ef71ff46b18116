// Cuts text to a number of columns, and marks the cut.

import { displayWidth, truncated } from "../library/text.js";

export function cutTo(text: string, width: number): string {
  const cut = truncated(text, width);
  // A wide character at the edge takes a column more than asked for.
  return displayWidth(cut) <= width ? cut : truncated(text, width - 1);
}
