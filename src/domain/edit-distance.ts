/** The edit distance of two words, for error texts that suggest what was probably meant. */

/**
 * Counts insertions, omissions, replacements and swaps of neighbours. Returns `most + 1` as soon as the count is
 * certainly higher. Only the cells near the diagonal matter, so only those are computed.
 */
export function editDistance(a: string, b: string, most = Number.POSITIVE_INFINITY): number {
  if (Math.abs(a.length - b.length) > most || hasForeignLetters(a, b, most)) return most + 1
  let before: number[] = []
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const next = new Array<number>(b.length + 1).fill(most + 1)
    next[0] = i
    let least = i
    for (let j = Math.max(1, i - most); j <= Math.min(b.length, i + most); j++) {
      const replaced = at(row, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1)
      const swapped = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? at(before, j - 2) + 1 : replaced
      const cost = Math.min(replaced, swapped, at(row, j) + 1, at(next, j - 1) + 1)
      next[j] = cost
      least = Math.min(least, cost)
    }
    if (least > most) return most + 1
    before = row
    row = next
  }
  return at(row, b.length)
}

/**
 * Each letter of one word that the other lacks costs at least one edit. This rules out most words without the table.
 */
function hasForeignLetters(a: string, b: string, most: number): boolean {
  let foreign = 0
  for (const letter of a) if (!b.includes(letter)) foreign++
  return foreign > most
}

/** A cell that was not computed counts as infinity. */
const at = (row: readonly number[], index: number): number => row[index] ?? Number.POSITIVE_INFINITY
