// Tab: shell completion. The build puts the package into this file; it is loaded when a shell asks.

export { RootCommand as Completions } from "@bomb.sh/tab";
