// cli-progress: bars on a terminal. The build puts the package into this file; it is loaded when work takes long.

import progress from "cli-progress";

export const { SingleBar } = progress;
