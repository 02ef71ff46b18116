// Numbers with their noun.

export function runsText(count: number): string {
  return count === 1 ? "1 run" : `${count} runs`;
}
