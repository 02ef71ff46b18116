// Suggests the closest known word (edit distance).

/** One edit per three letters: beyond that, the suggestion would be a guess. */
const LETTERS_PER_CHANGE = 3;

export function nearest(typed: string, words: readonly string[]): string | null {
  const ranked = words.map((word) => ({ word, changes: changesTo(typed.slice(0, 40), word) }));
  const [best] = ranked.sort((a, b) => a.changes - b.changes);
  return best && best.changes <= best.word.length / LETTERS_PER_CHANGE ? best.word : null;
}

/** Insertions, deletions, substitutions and transpositions. */
function changesTo(from: string, to: string): number {
  const rows: number[][] = [Array.from({ length: to.length + 1 }, (_, j) => j)];
  for (let i = 1; i <= from.length; i++) {
    const row = [i];
    for (let j = 1; j <= to.length; j++) {
      const same = from[i - 1] === to[j - 1] ? 0 : 1;
      const swapped = i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1];
      row[j] = Math.min(rows[i - 1]![j]! + 1, row[j - 1]! + 1, rows[i - 1]![j - 1]! + same);
      if (swapped) row[j] = Math.min(row[j]!, rows[i - 2]![j - 2]! + 1);
    }
    rows.push(row);
  }
  return rows[from.length]![to.length]!;
}
