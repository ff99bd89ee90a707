/**
 * The choice between the merchant's currency and the card's, as a part of the card's form: both amounts, the rate and
 * its markup side by side, and neither preselected. Without an offer the part is hidden and empty; the script fills the
 * same elements that the server would.
 */
import { fill, type Html, html } from '#http/html.ts'
import { formatDecimal, formatMoney, formatPercentage, type Money, nameCurrency } from '#pages/money-text.ts'
import { hiddenFields, type PageFrame } from '#pages/views/layout.ts'

/** The values of the field `dcc`. */
export const currencyChoices = ['accepted', 'refused'] as const
export type CurrencyAnswer = (typeof currencyChoices)[number]

export interface CurrencyOffer {
  /** Sent back as `quoteId`. */
  readonly quoteId: string
  readonly merchantAmount: Money
  readonly cardholderAmount: Money
  /** Cardholder currency per unit of merchant currency, including the markup: "1.234567". */
  readonly exchangeRate: string
  /** "3.00" */
  readonly markupPercentage: string
  readonly rateSource: string
  /** The customer's earlier answer; absent the first time. */
  readonly answer?: CurrencyAnswer | undefined
}

export interface CurrencyChoice {
  readonly offer?: CurrencyOffer | undefined
  /** The error shown if the customer has not chosen. */
  readonly error?: string | undefined
  /** Whether number and code must be entered again, which no page ever shows. */
  readonly isTypedAgain?: boolean | undefined
}

type Place = 'payInCard' | 'cardAmount' | 'rate' | 'markup' | 'source' | 'payInShop' | 'shopAmount'

export interface OfferTexts {
  readonly quoteId: string
  /** The text of each part of the choice. */
  readonly places: Readonly<Record<Place, string>>
  /** The button's text once a currency is chosen. */
  readonly buttons: Readonly<Record<CurrencyAnswer, string>>
}

/** The offer in the customer's language; the script gets the same texts. */
export function describeOffer({ language }: PageFrame, offer: CurrencyOffer): OfferTexts {
  const { texts, locale } = language
  const { merchantAmount, cardholderAmount } = offer
  const payIn = ({ currency }: Money): string =>
    fill(texts.payIn, { currency: nameCurrency(currency, locale) })
  const pay = (money: Money): string => fill(texts.payAmount, { amount: formatMoney(money, locale) })
  const one = `${formatDecimal('1', locale)} ${merchantAmount.currency}`
  return {
    quoteId: offer.quoteId,
    places: {
      payInCard: payIn(cardholderAmount),
      cardAmount: formatMoney(cardholderAmount, locale),
      rate: `${one} = ${formatDecimal(offer.exchangeRate, locale)} ${cardholderAmount.currency}`,
      markup: formatPercentage(offer.markupPercentage, locale),
      source: offer.rateSource,
      payInShop: payIn(merchantAmount),
      shopAmount: formatMoney(merchantAmount, locale),
    },
    buttons: { accepted: pay(cardholderAmount), refused: pay(merchantAmount) },
  }
}

export function renderCurrencyChoice(frame: PageFrame, { offer, error, isTypedAgain }: CurrencyChoice): Html {
  const { texts } = frame.language
  const described = offer && describeOffer(frame, offer)
  const at = (place: Place): Html => html`<bdi data-place="${place}">${described?.places[place]}</bdi>`
  const option = (value: CurrencyAnswer, [name, amount]: readonly [Place, Place], details: Html): Html =>
    html`<label class="currency"><input type="radio" name="dcc" value="${value}"${
      offer?.answer === value && html` checked`
    } data-missing="${texts.currencyMissing}" data-button="${described?.buttons[value]}"><span class="currency-in"><span class="option-name">${at(name)}</span><strong>${at(amount)}</strong>${details}</span></label>`
  const fact = (label: string, place: Place): Html =>
    html`<span class="fact"><span>${label}</span><span>${at(place)}</span></span>`
  return html`<fieldset class="choice" id="dcc" role="radiogroup" tabindex="-1" aria-describedby="dcc-intro dcc-error" data-choice${
    described === undefined && html` hidden disabled`
  }${error !== undefined && html` aria-invalid="true" data-wrong`}${
    described !== undefined && error === undefined && html` autofocus`
  }><legend>${texts.currencyTitle}</legend>
${hiddenFields([{ name: 'quoteId', value: offer?.quoteId ?? '' }])}
<p class="hint" id="dcc-intro">${texts.currencyIntro}${isTypedAgain === true && described !== undefined && html` ${texts.typeCardAgain}`}</p>
<div class="currencies">${option(
    'accepted',
    ['payInCard', 'cardAmount'],
    html`<span class="facts-in">${fact(texts.exchangeRate, 'rate')}${fact(texts.markup, 'markup')}${fact(texts.rateSource, 'source')}</span>`,
  )}${option('refused', ['payInShop', 'shopAmount'], html`<span class="facts-in">${texts.currencyBank}</span>`)}</div>
<p class="error" id="dcc-error">${error}</p>
<p class="hint">${texts.currencyFinal}</p>
</fieldset>`
}
