// The dashboard's entry: applies the theme, starts keys, router and stream, and draws the frame.

import { render } from "preact";
import { App } from "./app.js";
import { startTicking } from "./live/clock.js";
import { startKeys } from "./live/keys.js";
import { startRouter } from "./live/router.js";
import { startStream } from "./live/stream.js";
import { applyTheme } from "./live/theme.js";
import "./style/tokens.css";
import "./style/base.css";
import "./style/frame.css";
import "./style/part.css";
import "./style/table.css";
import "./style/run.css";
import "./style/shape.css";
import "./style/page.css";

applyTheme();
startRouter();
startKeys();
startTicking();
startStream();
render(<App />, document.getElementById("app") as HTMLElement);
