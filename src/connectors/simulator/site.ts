/** The simulator's pages, with a button for each action of the customer, and the decision behind each button. */
import type { CustomerDecision, PageReturn, SitePage, SiteQuestion } from '#connectors/contract.ts'
import { siteTexts } from '#connectors/simulator/site-texts.ts'

export const sitePath = '/pay/step/'

const buttons = [
  { value: 'approve', icon: 'check' },
  { value: 'decline', icon: 'cross' },
  { value: 'cancel', icon: 'arrow' },
  { value: 'pending', icon: 'clock' },
] as const

/** The address of the page for this try, with the token of its return address. */
export const pageAddress = (returnUrl = ''): string =>
  `${sitePath}${returnUrl.slice(returnUrl.lastIndexOf('/') + 1)}`

export function drawPage({ step, amount, methodLabel, language }: SiteQuestion): SitePage {
  const texts = siteTexts(language)
  const named = (text: string): string => text.replaceAll('{method}', () => methodLabel)
  return {
    ...(step === 'challenge'
      ? {
          title: texts.challengeTitle,
          text: texts.challengeText,
          issuer: texts.bank,
          shows: ['merchant', 'amount', 'date', 'card'],
        }
      : {
          title: named(texts.pageTitle),
          text: named(texts.pageText),
          shows: ['merchant', 'amount', 'reference', 'instalments'],
        }),
    buttons: buttons.map(({ value, icon }) => ({ name: 'action', value, label: texts[value], icon })),
    // The decision applies to the shown amount, even if the merchant changes the payment's meanwhile.
    hidden: { shown: `${amount.value} ${amount.currency}` },
  }
}

/** The button that the customer pressed, and the amount that the page showed. */
export function readDecision({ form, query }: PageReturn): CustomerDecision | undefined {
  const { action, shown } = { ...query, ...form }
  const pressed = buttons.find(({ value }) => value === action)
  if (!pressed) return undefined
  const [value, currency] = shown?.split(' ') ?? []
  return {
    action: pressed.value,
    ...(currency === undefined ? {} : { amount: { value: Number(value), currency } }),
  }
}
