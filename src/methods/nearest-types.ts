/**
 * What somebody may have meant who wrote a payment type that does not exist. Pure and quick: a refusal must not cost
 * more than a payment, however many rows the catalogue has.
 */

/** Names of the catalogue have 40 characters at most; what is longer was not meant as one of them. */
const typeLengthMax = 48
/** Three: one to take, two in case. A longer list is not read. */
const offeredMax = 3
/** Shorter pieces are part of too many names to mean one. */
const pieceLengthMin = 3

/** `pay-pal` and `Pay Pal` are one name with other habits. */
const squeeze = (text: string): string => text.toUpperCase().replace(/[^A-Z0-9]/g, '')

/** One slip for short names, two for longer ones: more is another word. */
const slipsMax = (length: number): number => (length < 5 ? 1 : 2)

/** The nearest first; among equals the order of `known`, in which the core methods lead. */
export function findNearestTypes(type: string, known: readonly string[]): readonly string[] {
  if (type.length > typeLengthMax) return []
  const asked = squeeze(type)
  if (asked === '') return []
  const most = slipsMax(asked.length)
  const near = known
    .map(candidate => ({ candidate, slips: countSlips(asked, candidate, most) }))
    .filter(({ slips }) => slips <= most)
    .sort((a, b) => a.slips - b.slips)
    .map(({ candidate }) => candidate)
  return (near.length > 0 ? near : findContaining(asked, known)).slice(0, offeredMax)
}

/** `KLARNAPAYLATER` for KLARNA, `PAYSAFE` for PAYSAFECARD: a name inside the other, the longest shared part first. */
function findContaining(asked: string, known: readonly string[]): readonly string[] {
  return known
    .map(candidate => ({ candidate, shared: sharedLength(asked, candidate) }))
    .filter(({ shared }) => shared >= pieceLengthMin)
    .sort((a, b) => b.shared - a.shared)
    .map(({ candidate }) => candidate)
}

const sharedLength = (asked: string, candidate: string): number => {
  if (candidate.startsWith(asked)) return asked.length
  return asked.startsWith(candidate) ? candidate.length : 0
}

/**
 * Letters put in, left out, replaced or swapped with their neighbour between two names; `most + 1` as soon as it is
 * certain that there are more. Only the cells beside the diagonal can matter, so only they are looked at.
 */
function countSlips(a: string, b: string, most: number): number {
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

/** Every letter of one name that the other lacks is a slip of its own; this spares most names the table. */
function hasForeignLetters(a: string, b: string, most: number): boolean {
  let foreign = 0
  for (const letter of a) if (!b.includes(letter)) foreign++
  return foreign > most
}

/** A cell that was never reached is as far away as can be. */
const at = (row: readonly number[], index: number): number => row[index] ?? Number.POSITIVE_INFINITY

/** Completes the refusal of an unknown type: what was probably meant, or where to look. */
export function explainUnknownType(type: string, known: readonly string[]): string {
  const near = findNearestTypes(type, known)
  const hint =
    near.length > 0
      ? `did you mean ${near.join(' or ')}?`
      : `GET /payment-methods lists all ${known.length}, such as ${known.slice(0, offeredMax).join(', ')}`
  return `is ${JSON.stringify(type)}, which is no payment method; ${hint}`
}
