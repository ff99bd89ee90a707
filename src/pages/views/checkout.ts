/**
 * The page on which a customer chooses a method and pays: one form for all methods, of which the chosen one's part is
 * shown. With a single method it is that method's own page. Works without a script; the server decides everything.
 */
import type { MethodFamily } from '#domain/response-codes.ts'
import { fill, type Html, html } from '#http/html.ts'
import { formatMoney } from '#pages/money-text.ts'
import type { TextKey, Texts } from '#pages/texts/en.ts'
import { type CardForm, renderCardForm } from '#pages/views/card-form.ts'
import { type DirectDebitForm, renderDirectDebitForm } from '#pages/views/direct-debit-form.ts'
import { type FieldErrors, type FormNotice, renderNotice } from '#pages/views/field.ts'
import { familyIcon, icon } from '#pages/views/icons.ts'
import {
  type HiddenField,
  hiddenFields,
  type PageFrame,
  renderPage,
  withMerchant,
} from '#pages/views/layout.ts'
import { type OrderSummary, renderOrderSummary } from '#pages/views/order-summary.ts'
import {
  type InstalmentSchedule,
  type PlanTerms,
  renderInstalmentSchedule,
  renderPlan,
} from '#pages/views/plan-terms.ts'

/** How a method continues once it is chosen; decides the hint. The values of methods/method.ts. */
type Flow = 'direct' | 'multi_step' | 'redirect' | 'qr' | 'voucher' | 'transfer'

export interface MethodOption {
  /** Sent back as `type`. */
  readonly type: string
  /** The name shown; `labelMethod` translates it to the customer's language where possible. */
  readonly label: string
  readonly family: MethodFamily
  readonly flow: Flow
  /** At most one method of a page has a card form, and one a direct debit form: their fields have fixed names. */
  readonly card?: CardForm | undefined
  readonly directDebit?: DirectDebitForm | undefined
  readonly instalments?: InstalmentSchedule | undefined
}

export interface CheckoutModel extends FormNotice {
  readonly order: OrderSummary
  /** In the order of the list. */
  readonly methods: readonly MethodOption[]
  /** The type chosen before, else the first. */
  readonly chosen?: string | undefined
  /** Where the form goes. */
  readonly action: string
  /** Among them `attempt`, which makes submitting the same page twice harmless. */
  readonly hidden: readonly HiddenField[]
  /** The address of the cancel button's form; without it there is no button. */
  readonly cancelAction?: string | undefined
  /** The card is only checked and kept: nothing is paid. */
  readonly isOnlySaving?: boolean | undefined
  /** The plan that begins with this payment, if any. */
  readonly plan?: PlanTerms | undefined
}

/** Above eight methods the list is cut: the first few stay in sight, the others are grouped and searchable. */
const shortListMax = 8
const firstMethods = 5

const namesByKey: Readonly<Record<string, TextKey>> = { card: 'methodCard', directDebit: 'methodDirectDebit' }

/** Methods that are no brand have a name in every language. */
export const labelMethod = (
  method: { readonly key: string; readonly label: string },
  texts: Texts,
): string => {
  const key = Object.hasOwn(namesByKey, method.key) ? namesByKey[method.key] : undefined
  return key === undefined ? method.label : texts[key]
}

const groups: readonly (readonly [title: TextKey, families: readonly MethodFamily[]])[] = [
  ['groupCard', ['card']],
  ['groupBank', ['direct_debit', 'bank_redirect', 'bank_transfer', 'open_banking']],
  ['groupWallet', ['wallet', 'mobile', 'qr', 'carrier_billing', 'crypto']],
  ['groupLater', ['bnpl', 'instalment', 'invoice']],
  ['groupCash', ['voucher', 'cash_on_delivery', 'prepaid', 'gift_card']],
]

const hints: Readonly<Record<Flow, TextKey>> = {
  direct: 'hintDirect',
  // On a hosted page the second step happens on the provider's page.
  multi_step: 'hintRedirect',
  redirect: 'hintRedirect',
  qr: 'hintQr',
  voucher: 'hintVoucher',
  transfer: 'hintTransfer',
}

export function renderCheckout(frame: PageFrame, model: CheckoutModel): string {
  const { texts } = frame.language
  const main = model.methods.length === 0 ? renderNothing(frame) : renderForm(frame, model)
  return renderPage(frame, {
    title: texts.pageTitle,
    aside: renderOrderSummary(frame, model.order),
    main: html`${main}${model.cancelAction !== undefined && renderCancel(frame, model, model.cancelAction)}`,
  })
}

const renderNothing = (frame: PageFrame): Html =>
  html`<h1>${frame.language.texts.noMethodTitle}</h1><p class="lead">${withMerchant(frame, frame.language.texts.noMethodText)}</p>`

function renderForm(frame: PageFrame, model: CheckoutModel): Html {
  const { texts, locale } = frame.language
  const [only, ...others] = model.methods
  const isSingle = only !== undefined && others.length === 0
  const usual =
    isSingle && !hasFields(only) && !model.plan?.isScheduled
      ? fill(texts.continueWith, { method: only.label })
      : model.isOnlySaving === true
        ? texts.saveCardButton
        : fill(model.plan?.isScheduled ? texts.planButton : texts.payAmount, {
            amount: formatMoney(model.order.amount, locale),
          })
  // While a currency is being chosen, no amount is certain yet.
  const button = model.methods.some(({ card }) => card?.offer) ? texts.continueButton : usual
  return html`<h1>${isSingle ? only.label : texts.chooseMethod}</h1>
${renderNotice(texts, model)}
<form method="post" action="${model.action}" class="pay" novalidate autocomplete="on" data-pay data-sending="${texts.sending}" data-lost="${texts.connectionLost}" data-broken="${texts.errorText}">
${hiddenFields(model.hidden)}
${isSingle ? renderSingle(frame, only, model.errors ?? {}) : renderList(frame, model)}
${model.plan ? renderPlan(frame, model.plan, model.errors?.planConsent) : ''}
<button class="primary" type="submit" data-usual="${usual}" data-choosing="${texts.continueButton}">${icon('lock')}<span>${button}</span></button>
<p class="progress" role="status" data-progress></p>
</form>`
}

const hasFields = (method: MethodOption): boolean =>
  method.card !== undefined || method.directDebit !== undefined

const renderSingle = (frame: PageFrame, method: MethodOption, errors: FieldErrors): Html =>
  html`<input type="hidden" name="type" value="${method.type}">
<div class="alone">${renderMethodFields(frame, method, errors)}</div>`

function renderMethodFields(frame: PageFrame, method: MethodOption, errors: FieldErrors): Html {
  const { texts } = frame.language
  return html`${!hasFields(method) && html`<p class="hint">${fill(texts[hints[method.flow]], { method: method.label })}</p>`}${
    method.card !== undefined && renderCardForm(frame, method.card, errors)
  }${method.directDebit !== undefined && renderDirectDebitForm(frame, method.directDebit, errors)}${
    method.instalments !== undefined && renderInstalmentSchedule(frame, method.instalments)
  }`
}

function renderList(frame: PageFrame, model: CheckoutModel): Html {
  const { texts } = frame.language
  const { methods, errors = {} } = model
  const chosen = methods.find(({ type }) => type === model.chosen) ?? methods[0]
  const option = (method: MethodOption): Html =>
    renderOption(frame, method, { errors, isChosen: method === chosen })
  const isLong = methods.length > shortListMax
  const shown = isLong ? methods.slice(0, firstMethods) : methods
  const rest = isLong ? methods.slice(firstMethods) : []
  return html`<fieldset class="methods"><legend class="unseen">${texts.chooseMethod}</legend>
<div class="method-list">${shown.map(option)}</div>
${
  rest.length > 0 &&
  html`<details class="more-methods" data-more${chosen !== undefined && rest.includes(chosen) && html` open`}><summary><span>${texts.groupOther}</span><span class="count">${rest.length}</span>${icon('chevron')}</summary>
<div class="search" data-search hidden><label class="unseen" for="search">${texts.searchMethods}</label>${icon('search')}<input id="search" type="search" placeholder="${texts.searchMethods}" autocomplete="off" aria-controls="more-methods"></div>
<p class="unseen" role="status" data-found="${texts.searchFound}"></p>
<p class="nothing" data-nothing hidden>${texts.searchNothing}</p>
<div id="more-methods">${groups.map(([title, families]) => renderGroup(texts[title], rest.filter(({ family }) => families.includes(family)).map(option)))}</div></details>`
}
</fieldset>`
}

const renderGroup = (title: string, options: readonly Html[]): Html | false =>
  options.length > 0 &&
  html`<div class="group" data-group><p class="group-title">${title}</p><div class="method-list">${options}</div></div>`

function renderOption(
  frame: PageFrame,
  method: MethodOption,
  { errors, isChosen }: { readonly errors: FieldErrors; readonly isChosen: boolean },
): Html {
  return html`<div class="method" data-method><label class="option"><input type="radio" name="type" value="${method.type}"${
    isChosen && html` checked`
  }><span class="option-name">${method.label}</span>${icon(familyIcon(method.family))}</label>
<div class="panel"><div class="panel-in">${renderMethodFields(frame, method, errors)}</div></div></div>`
}

const renderCancel = (frame: PageFrame, model: CheckoutModel, action: string): Html =>
  html`<form method="post" action="${action}" class="cancel" data-once>${hiddenFields(model.hidden)}<button class="quiet" type="submit">${icon('arrow')}<span>${withMerchant(frame, frame.language.texts.cancelPayment) || frame.language.texts.cancel}</span></button></form>`
