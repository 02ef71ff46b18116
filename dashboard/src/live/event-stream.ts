// Reads server-sent events from chunks of text. Pure: what was read goes in, whole events come out.

export interface StreamEvent {
  readonly event: string;
  readonly id: string | null;
  readonly data: string;
}

export interface Parsed {
  readonly events: readonly StreamEvent[];
  /** The beginning of an event whose end has not arrived. */
  readonly rest: string;
}

export function parseEvents(text: string): Parsed {
  const blocks = text.replaceAll("\r\n", "\n").split("\n\n");
  const rest = blocks.pop() as string;
  return { events: blocks.flatMap((block) => eventOf(block) ?? []), rest };
}

function eventOf(block: string): StreamEvent | null {
  let event = "message";
  let id: string | null = null;
  const data: string[] = [];
  for (const line of block.split("\n")) {
    const at = line.indexOf(":");
    if (at === 0) continue;
    const field = at === -1 ? line : line.slice(0, at);
    const value = at === -1 ? "" : line.slice(at + 1).replace(/^ /, "");
    if (field === "event") event = value;
    else if (field === "id") id = value;
    else if (field === "data") data.push(value);
  }
  return data.length === 0 ? null : { event, id, data: data.join("\n") };
}
