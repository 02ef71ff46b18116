// Cuts text to a number of UTF-8 bytes without splitting a character, and marks the cut.

export function cutText(text: string, maxBytes: number): string {
  if (text.length * 3 <= maxBytes) return text;
  if (text.length <= maxBytes && Buffer.byteLength(text) <= maxBytes) return text;
  const mark = `… (cut from ${text.length} characters)`;
  let left = maxBytes - Buffer.byteLength(mark);
  let end = 0;
  while (end < text.length) {
    const point = text.codePointAt(end)!;
    left -= utf8Bytes(point);
    if (left < 0) break;
    end += point > 0xffff ? 2 : 1;
  }
  return text.slice(0, end) + mark;
}

function utf8Bytes(point: number): number {
  if (point < 0x80) return 1;
  if (point < 0x800) return 2;
  return point < 0x1_0000 ? 3 : 4;
}
