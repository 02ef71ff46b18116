// The OpenAPI document, made from the route table.

import * as z from "zod";
import { PACKAGE_VERSION } from "../kernel/package-version.js";
import type { AnyRoute } from "./route.js";
import { ROUTES } from "./routes/index.js";

type Json = Record<string, unknown>;

export function openApi(): Json {
  const paths: Record<string, Json> = {};
  for (const [name, route] of Object.entries(ROUTES)) {
    const path = route.path.replaceAll(/:(\w+)/g, "{$1}");
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operationOf(name, route as AnyRoute) };
  }
  return {
    openapi: "3.1.0",
    info: { title: "Holdfast admin API", version: PACKAGE_VERSION },
    servers: [{ url: "api/v1" }],
    components: {
      securitySchemes: { token: { type: "http", scheme: "bearer" } },
      schemas: { Error: schemaOf(ERROR, "output") },
    },
    security: [{ token: [] }],
    paths,
  };
}

const ERROR = z.object({
  code: z.string(),
  message: z.string(),
  requestId: z.string(),
  permission: z.string().optional(),
});

function operationOf(name: string, { method, path, may, says, input, output, streams }: AnyRoute): Json {
  const { properties = {}, required = [] } = schemaOf(input, "input") as { properties?: Json; required?: string[] };
  const inPath = [...path.matchAll(/:(\w+)/g)].map(([, field]) => field!);
  const others = Object.keys(properties).filter((field) => !inPath.includes(field));
  const inQuery = method === "GET" || method === "DELETE";
  const parameter = (field: string, place: string) => ({
    name: field,
    in: place,
    required: place === "path" || required.includes(field),
    schema: properties[field],
  });
  const body = {
    type: "object",
    additionalProperties: false,
    properties: Object.fromEntries(others.map((field) => [field, properties[field]])),
    required: required.filter((field) => others.includes(field)),
  };
  const answer = streams
    ? { "text/event-stream": { schema: { type: "string" } } }
    : { "application/json": { schema: schemaOf(output, "output") } };
  return {
    operationId: name,
    summary: says,
    "x-permission": may,
    parameters: [
      ...inPath.map((field) => parameter(field, "path")),
      ...(inQuery ? others.map((field) => parameter(field, "query")) : []),
    ],
    ...(!inQuery && { requestBody: { content: { "application/json": { schema: body } } } }),
    responses: {
      200: { description: "The answer.", content: answer },
      default: {
        description: "An error.",
        content: { "application/json": { schema: { $ref: "#/components/schemas/Error" } } },
      },
    },
  };
}

function schemaOf(schema: z.ZodType, io: "input" | "output"): Json {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: "any" }) as Json;
  return rest;
}
