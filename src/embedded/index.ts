// Public exports of `holdfast/embedded`: a real PostgreSQL server with nothing installed but an npm package.

export { EmbeddedFailed, EmbeddedMissing } from "./error.js";
export { type EmbeddedOptions, type EmbeddedPostgres, startEmbedded, stopEmbedded } from "./start.js";
