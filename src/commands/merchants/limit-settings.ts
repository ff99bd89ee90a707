/** Options of `merchant set` for limits: declines of one card or one address, and payouts. */
import { type Command, InvalidArgumentError } from 'commander'
import type { Merchant } from '#domain/merchant.ts'
import {
  type DeclineLimit,
  declinesMax,
  noLimit,
  parseDeclineLimit,
  parsePayoutLimits,
} from '#domain/velocity.ts'
import type { MerchantSettings } from '#storage/merchants.ts'

/** Restores the environment's default. */
const byDefault = 'default'

export interface LimitOptions {
  readonly declinesPerCard?: string
  readonly declinesPerAddress?: string
  readonly payoutLimit?: string
}

export const addLimitOptions = (command: Command): Command =>
  command
    .option(
      '--declines-per-card <n/duration>',
      'how many declines a card may have before it is refused without asking a provider, such as 10/PT1H; none: no limit; default: 10/PT1H in live, none in test',
      parseDeclines,
    )
    .option(
      '--declines-per-address <n/duration>',
      "the same for the address of the customer's browser; none or default: no limit",
      parseDeclines,
    )
    .option(
      '--payout-limit <amount/duration>',
      'how much may be paid out without a payment behind it, in the smallest unit: 100000EUR/P1D; several currencies ' +
        'separated by commas, others are refused; none or default: no limit',
      parsePayouts,
    )

function parseDeclines(text: string): string {
  if (text === noLimit || text === byDefault || parseDeclineLimit(text)) return text
  throw new InvalidArgumentError(
    `It must be a number from 1 to ${declinesMax}, a slash and a duration up to P31D, such as 10/PT1H, or none or default.`,
  )
}

function parsePayouts(text: string): string {
  if (text === noLimit || text === byDefault || parsePayoutLimits(text)) return text
  throw new InvalidArgumentError(
    'It must be an amount in the smallest unit with its currency, a slash and a duration up to P31D, such as 100000EUR/P1D, or none or default.',
  )
}

const orDefault = (text: string): string | null => (text === byDefault ? null : text)

export const toLimitChange = ({
  declinesPerCard,
  declinesPerAddress,
  payoutLimit,
}: LimitOptions): Pick<MerchantSettings, 'declinesPerCard' | 'declinesPerAddress' | 'payoutLimit'> => ({
  ...(declinesPerCard === undefined ? {} : { declinesPerCard: orDefault(declinesPerCard) }),
  ...(declinesPerAddress === undefined ? {} : { declinesPerAddress: orDefault(declinesPerAddress) }),
  ...(payoutLimit === undefined
    ? {}
    : { payoutLimit: payoutLimit === noLimit ? null : orDefault(payoutLimit) }),
})

const showDeclines = (limit: DeclineLimit | typeof noLimit): string =>
  limit === noLimit ? noLimit : `${limit.count}/${limit.window}`

/** The limits as they were set; unset ones are omitted. */
export const showLimits = ({
  declinesPerCard,
  declinesPerAddress,
  payoutLimits,
  personalDataFor,
}: Merchant): Record<string, string> => ({
  ...(declinesPerCard ? { declinesPerCard: showDeclines(declinesPerCard) } : {}),
  ...(declinesPerAddress ? { declinesPerAddress: showDeclines(declinesPerAddress) } : {}),
  ...(payoutLimits
    ? {
        payoutLimit: payoutLimits
          .map(({ amount, window }) => `${amount.value}${amount.currency}/${window}`)
          .join(','),
      }
    : {}),
  ...(personalDataFor === undefined ? {} : { personalDataFor }),
})
