// `holdfast/otel`: spans and measurements through the OpenTelemetry API, which the application brings.

export { type OpenTelemetryOptions, openTelemetry } from "./open-telemetry.js";
