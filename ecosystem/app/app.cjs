// The application as CommonJS: it loads Holdfast by require().

const { createNode, workflow } = require("holdfast");
const { postgres } = require("holdfast/postgres");

require("./story.cjs").run({ createNode, workflow, postgres });
