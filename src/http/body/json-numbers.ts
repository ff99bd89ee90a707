/**
 * Finds numbers in JSON that a double cannot represent, such as 0.1234567890123456789 or 1e-400. Answers must return
 * what was sent, so the digits are compared. Used only for texts with a number that may be affected.
 */

/** A canonical form of a number: its digits without surrounding zeros, and the position of the point. */
function normalizeNumber(text: string): string | undefined {
  const [, whole = '', fraction = '', power = '0'] =
    /^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? []
  if (whole === '') return undefined
  const digits = (whole + fraction).replace(/^0+/, '')
  const short = withoutLastZeros(digits)
  return short === '' ? '0' : `${short}e${Number(power) - fraction.length + digits.length - short.length}`
}

/** A loop, because the pattern 0+$ takes quadratic time: half a megabyte of zeros would take minutes. */
function withoutLastZeros(digits: string): string {
  let end = digits.length
  while (digits[end - 1] === '0') end--
  return digits.slice(0, end)
}

const isKept = (source: string): boolean =>
  normalizeNumber(source) === normalizeNumber(String(Number(source)))

/** The library's types lack the reviver's third argument, which has the source text of the value. */
const markLost = (_: string, value: unknown, context?: { readonly source?: string }): unknown =>
  typeof value === 'number' && context?.source !== undefined && !isKept(context.source) ? Number.NaN : value

/** Like JSON.parse, with NaN instead of every number that a double cannot represent exactly. */
export const markLostNumbers = (text: string): unknown => JSON.parse(text, markLost)
