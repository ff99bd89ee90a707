/**
 * Suggests existing types for an unknown payment type. Pure and fast, because a refusal must not cost more than a
 * payment, however many rows the catalogue has.
 */
import { editDistance } from '#domain/edit-distance.ts'

/** Types of the catalogue have at most 40 characters; longer text is no misspelt type. */
const typeLengthMax = 48
/** Three, because nobody reads a longer list. */
const offeredMax = 3
/** Shorter pieces are part of too many names to identify one. */
const pieceLengthMin = 3

/** `pay-pal` and `Pay Pal` are the same name. */
const squeeze = (text: string): string => text.toUpperCase().replace(/[^A-Z0-9]/g, '')

/** One typing error for short names, two for longer ones; with more it is another word. */
const slipsMax = (length: number): number => (length < 5 ? 1 : 2)

/** Nearest first; equal ones in the order of `known`, in which core methods come first. */
export function findNearestTypes(type: string, known: readonly string[]): readonly string[] {
  if (type.length > typeLengthMax) return []
  const asked = squeeze(type)
  if (asked === '') return []
  const most = slipsMax(asked.length)
  const near = known
    .map(candidate => ({ candidate, slips: editDistance(asked, candidate, most) }))
    .filter(({ slips }) => slips <= most)
    .sort((a, b) => a.slips - b.slips)
    .map(({ candidate }) => candidate)
  return (near.length > 0 ? near : findContaining(asked, known)).slice(0, offeredMax)
}

/** Types that contain the name or are part of it (`PAYSAFE` and PAYSAFECARD), longest shared part first. */
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

/** Completes the error text for an unknown type: the likely type, or where to find the list. */
export function explainUnknownType(type: string, known: readonly string[]): string {
  const near = findNearestTypes(type, known)
  const hint =
    near.length > 0
      ? `did you mean ${near.join(' or ')}?`
      : `GET /payment-methods lists all ${known.length}, such as ${known.slice(0, offeredMax).join(', ')}`
  return `is ${JSON.stringify(type)}, which is no payment method; ${hint}`
}
