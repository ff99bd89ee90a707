/**
 * Amounts with a meaning: an operation of exactly this amount is declined, whatever the card or account. They lie far above
 * what anybody tests with by chance, and end with the provider code they stand for.
 */
import { listProviderCodes, providerText } from '#domain/response-codes.ts'

/** 99,990,300: 999,903.00 where a currency has cents, and not a round sum in any other. */
const firstAmount = 99_990_300

export interface TestAmount {
  readonly value: number
  /** The last four digits of the response code. */
  readonly decline: string
  readonly outcome: string
  readonly description: string
}

export const testAmounts: readonly TestAmount[] = listProviderCodes().map(nn => ({
  value: firstAmount + Number(nn),
  decline: `03${nn}`,
  outcome: `declined ${nn}`,
  description: providerText(nn),
}))

const declines: ReadonlyMap<number, string> = new Map(
  testAmounts.map(({ value, decline }) => [value, decline]),
)

export const declineByAmount = (value: number): string | undefined => declines.get(value)
