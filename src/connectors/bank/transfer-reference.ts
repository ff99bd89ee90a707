/**
 * Finds payment references in the text that a customer typed into a bank form. Case, spaces and punctuation are
 * ignored; everything else must match exactly, because a guess could book the money on another customer's payment.
 */

/** Only letters and digits, in upper case. */
export const normalizeReference = (text: string): string =>
  text
    .normalize('NFKC')
    .toUpperCase()
    .replace(/[^\p{L}\p{N}]/gu, '')

/** More words than fit into the 140 characters of a bank form. */
const wordsMax = 70

/** The possible references in a text: every run of adjacent words, joined. */
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
