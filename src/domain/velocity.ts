/** Parses limits on declines and payouts from the command line: `10/PT1H`, `100000EUR/P1D`. Pure. */
import { isActiveCurrency } from '#domain/money/currencies.ts'
import { type Money, maximumAmount } from '#domain/money/money.ts'
import { addDuration } from '#domain/time/duration.ts'

export interface DeclineLimit {
  readonly count: number
  /** ISO 8601. */
  readonly window: string
}

export interface PayoutLimit {
  readonly amount: Money
  readonly window: string
}

/** Stored for a merchant without a limit. If nothing is stored, the environment's default applies. */
export const noLimit = 'none'

/** 1,000: the most declines of a card that are stored. */
export const declinesMax = 1_000
/** 31 days: a longer window would be a ban, not a rate limit. */
const windowMaxMs = 31 * 86_400_000

/** The default in live, against attackers who guess security codes or expiry dates. */
export const defaultDeclinesPerCard: DeclineLimit = { count: 10, window: 'PT1H' }

const isWindow = (text: string): boolean => {
  const lengthMs = addDuration(0, text)
  return lengthMs !== undefined && lengthMs > 0 && lengthMs <= windowMaxMs
}

/** Undefined for text that is not a limit. */
export function parseDeclineLimit(text: string): DeclineLimit | undefined {
  const [, digits = '', window = ''] = /^([0-9]{1,4})\/([0-9A-Z.,]{2,32})$/.exec(text) ?? []
  const count = Number(digits)
  return count >= 1 && count <= declinesMax && isWindow(window) ? { count, window } : undefined
}

/** One or several limits, one per currency, separated by commas. Undefined for text that is no list of limits. */
export function parsePayoutLimits(text: string): readonly PayoutLimit[] | undefined {
  const limits = text.split(',').map(parsePayoutLimit)
  const known = limits.filter(limit => limit !== undefined)
  const currencies = new Set(known.map(({ amount }) => amount.currency))
  return known.length === limits.length && currencies.size === limits.length ? known : undefined
}

function parsePayoutLimit(text: string): PayoutLimit | undefined {
  const [, digits = '', currency = '', window = ''] =
    /^([0-9]{1,12})([A-Z]{3})\/([0-9A-Z.]{2,32})$/.exec(text) ?? []
  const value = Number(digits)
  const fits = value >= 1 && value <= maximumAmount && isActiveCurrency(currency) && isWindow(window)
  return fits ? { amount: { value, currency }, window } : undefined
}

/**
 * Makes room in a full map of counts or blocks: forgets the tenth that was written first. Forgetting one at a time would
 * be slow, because the first key of a map takes longer to find the more keys before it were deleted.
 */
export function makeRoom(map: Map<string, unknown>, most: number): void {
  if (map.size < most) return
  let left = Math.ceil(most / 10)
  for (const name of map.keys()) {
    if (left === 0) return
    map.delete(name)
    left -= 1
  }
}
