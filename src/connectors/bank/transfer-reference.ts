/**
 * Finding the reference of a payment in the text that somebody typed into a bank form. Case, blanks and punctuation do
 * not count; anything else must be equal, because a guess would credit a stranger's money.
 */

/** Letters and digits alone, in upper case. */
export const normalizeReference = (text: string): string =>
  text
    .normalize('NFKC')
    .toUpperCase()
    .replace(/[^\p{L}\p{N}]/gu, '')

/** More words than any bank form holds in its 140 characters; the rest cannot hold a reference of ours. */
const wordsMax = 70

/** What a text may be a reference for: each run of neighbouring words, put together. */
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
