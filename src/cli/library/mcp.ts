// The MCP server over stdio, and the schemas of its tools. The build puts these packages into this file; `holdfast mcp` loads it.

export { ProtocolError, ProtocolErrorCode, Server } from "@modelcontextprotocol/server";
export { StdioServerTransport, serveStdio } from "@modelcontextprotocol/server/stdio";
/** One by one: all of zod would be 400 kB more. */
export { array, boolean, enum as oneOf, iso, number, strictObject, string, toJSONSchema, unknown, uuid } from "zod";
