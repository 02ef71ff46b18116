// The types of a parser that has none.

declare module "parse-prometheus-text-format" {
  export default function parse(text: string): unknown;
}
