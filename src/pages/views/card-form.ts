/** The card's fields. A number or security code is never rendered back: what was typed stays in the browser only. */
import { fill, type Html, html } from '#http/html.ts'
import { type CurrencyOffer, renderCurrencyChoice } from '#pages/views/currency-choice.ts'
import { type FieldErrors, renderField, renderTick } from '#pages/views/field.ts'
import { brandMark, icon, nameBrand } from '#pages/views/icons.ts'
import { type PageFrame, renderBare } from '#pages/views/layout.ts'

export interface RememberedCard {
  /** Sent back as `remembered`. */
  readonly id: string
  readonly brand: string
  readonly last4Digits: string
  /** YYYYMM. */
  readonly expiryDate?: string | undefined
}

export interface TestCard {
  readonly number: string
  readonly description: string
}

export interface CardForm {
  /** The sentence that names the brands, where not every card is taken. */
  readonly accepted?: string | undefined
  readonly remembered?: readonly RememberedCard[] | undefined
  /** Whether the customer is known, so that the card can be kept. */
  readonly mayBeSaved?: boolean | undefined
  /** Only in test; the layout's frame decides, so that live never shows them. */
  readonly testCards?: readonly TestCard[] | undefined
  /** A date at which the test cards are valid, such as 12/29: the merchant's test clock may be years ahead. */
  readonly testExpiry?: string | undefined
  /** The choice of a currency; null while there is no offer, absent where there never will be one. */
  readonly offer?: CurrencyOffer | null | undefined
  /** What was entered before, without number and security code. */
  readonly entered?:
    | {
        readonly expiry?: string | undefined
        readonly cardholderName?: string | undefined
        readonly isToBeSaved?: boolean | undefined
        /** The remembered card that was chosen; empty for another one. */
        readonly remembered?: string | undefined
      }
    | undefined
}

export function renderCardForm(frame: PageFrame, form: CardForm, errors: FieldErrors): Html {
  const remembered = form.remembered ?? []
  const chosen = form.entered?.remembered ?? remembered[0]?.id
  const choice =
    form.offer !== undefined &&
    renderCurrencyChoice(frame, {
      offer: form.offer ?? undefined,
      error: errors.dcc,
      isTypedAgain: chosen === undefined || chosen === '',
    })
  const fields = html`<div class="card-fields">${renderFields(frame, form, errors)}</div>${choice}`
  if (remembered.length === 0) return fields
  const { texts } = frame.language
  return html`<fieldset class="saved"><legend>${texts.savedCards}</legend><div class="method-list">
${remembered.map(card => renderRemembered(frame, card, chosen === card.id))}
<label class="option"><input type="radio" name="remembered" value=""${chosen === '' && html` checked`} data-new-card><span class="option-name">${texts.otherCard}</span>${icon('card')}</label>
</div></fieldset>${fields}`
}

function renderRemembered({ language }: PageFrame, card: RememberedCard, isChosen: boolean): Html {
  const { texts } = language
  const brand = nameBrand(card.brand, texts.card)
  const date =
    card.expiryDate === undefined ? '' : `${card.expiryDate.slice(4)}/${card.expiryDate.slice(2, 4)}`
  return html`<label class="option"><input type="radio" name="remembered" value="${card.id}"${
    isChosen && html` checked`
  }><span class="option-name">${fill(texts.cardEnding, { brand, digits: card.last4Digits })}${
    date !== '' && html`<small>${fill(texts.cardExpires, { date })}</small>`
  }</span>${brandMark(card.brand)}</label>`
}

function renderFields(frame: PageFrame, form: CardForm, errors: FieldErrors): Html {
  const { texts } = frame.language
  return html`${renderField({
    name: 'number',
    label: texts.cardNumber,
    autocomplete: 'cc-number',
    isNumeric: true,
    isCode: true,
    // 19 digits, and room for separators in pasted numbers.
    lengthMax: 40,
    placeholder: '0000 0000 0000 0000',
    // The error says the same.
    hint: errors.number === form.accepted ? undefined : form.accepted,
    error: errors.number,
    mistakes: {
      missing: texts.cardNumberMissing,
      wrong: texts.cardNumberWrong,
      short: texts.cardNumberShort,
    },
    decoration: html`<span class="in-field" data-brand>${brandMark('unknown')}</span>`,
  })}
<div class="pair">${renderField({
    name: 'expiry',
    label: texts.expiryDate,
    autocomplete: 'cc-exp',
    isNumeric: true,
    isCode: true,
    lengthMax: 10,
    placeholder: texts.expiryHint,
    value: form.entered?.expiry,
    error: errors.expiry,
    mistakes: { missing: texts.expiryMissing, wrong: texts.expiryWrong, past: texts.expiryPast },
  })}${renderField({
    name: 'securityCode',
    label: texts.securityCode,
    autocomplete: 'cc-csc',
    isNumeric: true,
    isCode: true,
    lengthMax: 4,
    placeholder: '000',
    hint: texts.securityCodeHint,
    error: errors.securityCode,
    mistakes: {
      missing: texts.securityCodeMissing,
      wrong: texts.securityCodeWrong,
      back: texts.securityCodeHint,
      front: texts.securityCodeHintFront,
    },
  })}</div>
${renderField({
  name: 'cardholderName',
  label: texts.cardholderName,
  autocomplete: 'cc-name',
  lengthMax: 45,
  value: form.entered?.cardholderName,
  error: errors.cardholderName,
  mistakes: { missing: texts.cardholderNameMissing, wrong: texts.cardholderNameWrong },
})}
${
  form.mayBeSaved === true &&
  renderTick({
    name: 'saveCard',
    label: fill(texts.saveCard, { merchant: frame.merchantName ?? '' }),
    isTicked: form.entered?.isToBeSaved,
  })
}
${frame.isTest && renderTestCards(frame, form)}`
}

function renderTestCards(
  { language }: PageFrame,
  { testCards: cards = [], testExpiry }: CardForm,
): Html | false {
  if (cards.length === 0) return false
  const { texts } = language
  return html`<details class="test-cards"><summary>${icon('flask')}<span>${texts.testCards}</span>${icon('chevron')}</summary>
<p class="hint">${texts.testCardsHint}</p>
<ul>${cards.map(
    ({ number, description }) =>
      html`<li><button type="button" data-test-card="${testExpiry}"><bdi class="code">${inGroups(number)}</bdi><small lang="en" dir="ltr">${description}</small></button></li>`,
  )}</ul></details>`
}

/**
 * Test numbers are rendered in groups, which the script joins: a test or a proxy that searches pages for leaked card numbers
 * must not find one here.
 */
const inGroups = (number: string): string => number.replace(/(....)(?=.)/g, '$1 ')

/** The card's fields alone, for a frame inside a shop's page. The shop's own button requests the token. */
export function renderCardFields(frame: PageFrame, action: string): string {
  const { texts } = frame.language
  // The hidden button lets Enter in a field submit the form.
  const main = html`<form method="post" action="${action}" class="pay" novalidate autocomplete="on" data-fields data-sending="${texts.sending}" data-lost="${texts.connectionLost}" data-broken="${texts.errorText}">
${renderCardForm(frame, {}, {})}
<button type="submit" hidden></button>
</form>`
  return renderBare(frame, { title: texts.methodCard, main })
}
