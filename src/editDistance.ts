/** The number of insertions, deletions and substitutions between two texts (Levenshtein). */
export function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, at) => at)
  for (const [at, character] of [...a].entries()) {
    const current = [at + 1]
    for (const [index, other] of [...b].entries()) {
      const [left = 0, diagonal = 0, above = 0] = [current[index], previous[index], previous[index + 1]]
      current.push(Math.min(left + 1, above + 1, diagonal + Number(character !== other)))
    }
    previous = current
  }
  return previous.at(-1) ?? 0
}
