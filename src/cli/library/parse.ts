// Commander: parsing, help and suggestions. The build puts the package into this file, so that installing Holdfast brings none.

export { Command as Parser, CommanderError, Option as ParserOption } from "commander";
