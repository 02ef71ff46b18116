// Clack: questions on a terminal. The build puts the package into this file; it is loaded when a question is asked.

export { confirm } from "@clack/prompts";
