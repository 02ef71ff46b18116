// The application as an ES module.

import { createNode, workflow } from "holdfast";
import { postgres } from "holdfast/postgres";
import story from "./story.cjs";

story.run({ createNode, workflow, postgres });
