// Errors of the development server.

import { HoldfastError } from "../kernel/error.js";

/** The file cannot be served: it is missing, exports no program, or needs a loader that is not installed. */
export class AppInvalid extends HoldfastError {
  readonly code = "APP_INVALID";
}

/** The demonstration did not show what it has to show. */
export class DemonstrationFailed extends HoldfastError {
  readonly code = "DEMONSTRATION_FAILED";
}
