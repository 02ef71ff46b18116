// Measures how many columns a text takes on a terminal, and cuts a text to a number of columns.

const ZERO = /^\p{M}$/u;
/** East Asian wide characters and emoji. */
const WIDE =
  /^[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]$/u;

export function textWidth(text: string): number {
  let width = 0;
  for (const character of text) width += characterWidth(character);
  return width;
}

export function cutToWidth(text: string, width: number): string {
  if (textWidth(text) <= width) return text;
  let left = width - 1;
  let kept = "";
  for (const character of text) {
    left -= characterWidth(character);
    if (left < 0) break;
    kept += character;
  }
  return `${kept.trimEnd()}…`;
}

function characterWidth(character: string): number {
  if (character <= "~") return 1;
  if (ZERO.test(character)) return 0;
  return WIDE.test(character) ? 2 : 1;
}
