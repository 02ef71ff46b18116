// Widths, cuts and colours of text on a terminal. The build puts these packages into this file.

export { default as truncated } from "cli-truncate";
export { default as colours } from "picocolors";
export { default as displayWidth } from "string-width";
export { default as wrapped } from "wrap-ansi";
