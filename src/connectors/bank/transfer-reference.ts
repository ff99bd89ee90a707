/**
 * Finds the reference of a payment in the text that a customer typed into a bank form. Case, spaces and punctuation do
 * not count; everything else must be equal, because a guess could credit somebody else's money.
 */

/** Letters and digits alone, in upper case. */
export const normalizeReference = (text: string): string =>
  text
    .normalize('NFKC')
    .toUpperCase()
    .replace(/[^\p{L}\p{N}]/gu, '')

/** More words than the 140 characters of a bank form can hold; further text cannot contain a reference. */
const wordsMax = 70

/** Candidates for references in a text: each run of adjacent words, joined. */
export function referencesIn(text: string): string[] {
  const words = text
    .normalize('NFKC')
    .toUpperCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter(word => word !== '')
    .slice(0, wordsMax)
  const found = new Set<string>()
  for (let start = 0; start < words.length; start++) {
    let run = ''
    for (let end = start; end < words.length; end++) {
      run += words[end]
      if (run.length > referenceMax) break
      found.add(run)
    }
  }
  return [...found]
}

/** A transId has at most 64 characters. */
const referenceMax = 64
