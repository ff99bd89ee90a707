/** Dynamic currency conversion: both amounts, the rate and its markup side by side, and no choice made in advance. */
import { fill, type Html, html } from '#pages/html.ts'
import { type HiddenField, hiddenFields, type PageFrame, renderPage } from '#pages/layout.ts'
import { formatDecimal, formatMoney, formatPercentage, type Money, nameCurrency } from '#pages/money-text.ts'
import { type OrderSummary, renderOrderSummary } from '#pages/views/order-summary.ts'

export interface CurrencyChoiceModel {
  readonly order: OrderSummary
  readonly merchantAmount: Money
  readonly cardholderAmount: Money
  /** Cardholder currency per unit of merchant currency, the markup in it: "1.234567". */
  readonly exchangeRate: string
  /** "3.00" */
  readonly markupPercentage: string
  readonly rateSource: string
  readonly action: string
  readonly hidden: readonly HiddenField[]
}

/** The values of the field `dcc`. */
export const currencyChoices = { accepted: 'accepted', refused: 'refused' } as const

export function renderCurrencyChoice(frame: PageFrame, model: CurrencyChoiceModel): string {
  const { texts, locale } = frame.language
  const { merchantAmount, cardholderAmount } = model
  const one = `${formatDecimal('1', locale)} ${merchantAmount.currency}`
  const rate = `${one} = ${formatDecimal(model.exchangeRate, locale)} ${cardholderAmount.currency}`
  const main = html`<h1>${texts.currencyTitle}</h1>
<p class="lead">${texts.currencyIntro}</p>
<form method="post" action="${model.action}" class="pay" data-once data-sending="${texts.sending}">
${hiddenFields(model.hidden)}
<fieldset class="methods"><legend class="unseen">${texts.currencyLegend}</legend><div class="currencies">
${renderOption(frame, cardholderAmount, {
  value: currencyChoices.accepted,
  details: html`<dl><div><dt>${texts.exchangeRate}</dt><dd><bdi>${rate}</bdi></dd></div><div><dt>${texts.markup}</dt><dd>${formatPercentage(model.markupPercentage, locale)}</dd></div><div><dt>${texts.rateSource}</dt><dd><bdi>${model.rateSource}</bdi></dd></div></dl>`,
})}
${renderOption(frame, merchantAmount, {
  value: currencyChoices.refused,
  details: html`<p>${texts.currencyBank}</p>`,
})}
</div></fieldset>
<p class="hint">${texts.currencyFinal}</p>
<button class="primary" type="submit"><span>${texts.continueButton}</span></button>
<p class="progress" role="status" data-progress></p>
</form>`
  return renderPage(frame, {
    title: texts.currencyTitle,
    aside: renderOrderSummary(frame, model.order),
    main,
  })
}

function renderOption(
  { language }: PageFrame,
  amount: Money,
  { value, details }: { readonly value: string; readonly details: Html },
): Html {
  const { texts, locale } = language
  return html`<label class="currency"><input type="radio" name="dcc" value="${value}" required><span class="currency-in"><span class="option-name">${fill(texts.payIn, { currency: nameCurrency(amount.currency, locale) })}</span><strong>${formatMoney(amount, locale)}</strong>${details}</span></label>`
}
