/**
 * What the payment pages do better with a script: digits in groups, mistakes told at once, a form that is sent once and
 * keeps what was typed after a decline. It talks to its own origin only, stores nothing, and no page needs it.
 */
import { startCardFields } from './card-fields.js'
import {
  checks,
  detectBrand,
  formatExpiry,
  groupIban,
  groupNumber,
  parseExpiry,
  toDigits,
} from './entries.js'
import { startFrame } from './frame.js'

const find = (selector, within = document) => within.querySelector(selector)
const findAll = (selector, within = document) => [...within.querySelectorAll(selector)]

/** Rewrites a field without moving the caret away from the character it stood behind. */
function rewrite(field, format, counts) {
  const before = field.value
  const after = format(before)
  if (after === before) return
  const atEnd = field.selectionStart === before.length
  const passed = before.slice(0, field.selectionStart).replace(counts, '').length
  field.value = after
  if (document.activeElement !== field) return
  let caret = atEnd ? after.length : 0
  for (let seen = 0; !atEnd && caret < after.length && seen < passed; caret++)
    if (!after[caret].match(counts)) seen++
  field.setSelectionRange(caret, caret)
}

function showError(field, text) {
  const error = document.getElementById(`${field.name}-error`)
  if (error === null) return
  error.textContent = text
  // Of several buttons for one answer none is wrong by itself: their group is.
  const marked = field.closest('[role="radiogroup"]') ?? field
  if (text === '') marked.removeAttribute('aria-invalid')
  else marked.setAttribute('aria-invalid', 'true')
  field.closest('.field, .tick, .choice')?.toggleAttribute('data-wrong', text !== '')
}

function checkField(field) {
  const kind = checks[field.name]?.(field.value, undefined, field) ?? ''
  const text = kind === '' ? '' : (field.dataset[kind] ?? '')
  showError(field, text)
  return text
}

/** Only what is shown is asked for. */
const visibleFields = form =>
  findAll('input', form).filter(
    field => field.name in checks && field.checkVisibility?.() !== false && !field.matches(':disabled'),
  )

function showNotice(title, message, errors) {
  const notice = find('[data-notice]')
  if (notice === null) return
  const lines = Object.entries(errors)
  notice.hidden = !title
  notice.replaceChildren()
  if (!title) return
  const add = (parent, tag, text = '') => {
    const element = document.createElement(tag)
    element.textContent = text
    parent.append(element)
    return element
  }
  const box = add(notice, 'div')
  add(box, 'p', title).className = 'notice-title'
  if (message) add(box, 'p', message)
  const list = lines.length > 0 ? add(box, 'ul') : undefined
  for (const [name, text] of lines) add(add(list, 'li'), 'a', text).href = `#${name}`
  notice.focus()
}

/** Busy means: sent, and not to be sent again. */
function setBusy(form, isBusy) {
  form.toggleAttribute('aria-busy', isBusy)
  if (isBusy) form.setAttribute('aria-busy', 'true')
  const progress = find('[data-progress]', form)
  if (progress !== null) progress.textContent = isBusy ? (form.dataset.sending ?? '') : ''
}

const isBusy = form => form.getAttribute('aria-busy') === 'true'

/** 90 s: longer than the server lets a provider think. */
const answerTimeoutMs = 90_000

/** What the server says: where to go on, or what is wrong. Anything else is shown by loading the page anew. */
async function send(form, button = null) {
  // The attribute, because buttons of providers' pages are named action.
  const response = await fetch(form.getAttribute('action'), {
    method: 'POST',
    body: new URLSearchParams(new FormData(form, button)),
    headers: { accept: 'application/json' },
    credentials: 'same-origin',
    signal: AbortSignal.timeout(answerTimeoutMs),
  })
  if (!(response.headers.get('content-type') ?? '').includes('application/json')) {
    if (response.status >= 500) return { title: form.dataset.broken }
    // Without the part behind #, with which a browser would stay on the page it has.
    return { redirect: location.pathname }
  }
  return response.json()
}

function setButtonText(form, text) {
  const words = find('button.primary span', form)
  if (words !== null && text) words.textContent = text
}

/** The card that the choice on the page is about. */
let askedFor

/** The card that the form is about, as far as a choice of currency depends on it. */
const describeCard = form => {
  const { type, remembered, number } = Object.fromEntries(new FormData(form))
  return `${type} ${remembered ?? ''} ${toDigits(number ?? '')}`
}

/** The server asks for the currency before it tries the payment: what it offers is put where it would have put it. */
function showChoice(form, { quoteId, places, buttons }) {
  const choice = find('[data-choice]', form)
  // The merchant has begun to offer it since the page was opened: only a new page has a place for it.
  if (choice === null) return location.reload()
  const quote = find('[name="quoteId"]', choice)
  // The same offer again: what was chosen is still chosen.
  if (!choice.hidden && quote.value === quoteId) return
  quote.value = quoteId
  for (const place of findAll('[data-place]', choice)) place.textContent = places[place.dataset.place] ?? ''
  for (const button of findAll('[name="dcc"]', choice)) {
    button.checked = false
    button.dataset.button = buttons[button.value] ?? ''
  }
  choice.hidden = false
  choice.disabled = false
  askedFor = describeCard(form)
  setButtonText(form, find('button.primary', form).dataset.choosing)
}

/** Another card, another question: the answer that was given does not hold for it. */
function withdrawChoice(form) {
  const choice = find('[data-choice]', form)
  if (choice === null || choice.hidden) return
  choice.hidden = true
  choice.disabled = true
  askedFor = undefined
  find('[name="quoteId"]', choice).value = ''
  for (const button of findAll('[name="dcc"]', choice)) button.checked = false
  setButtonText(form, find('button.primary', form).dataset.usual)
}

function startChoice(form) {
  const choice = find('[data-choice]', form)
  if (choice === null) return
  const leaveIfOther = () => {
    if (askedFor !== undefined && askedFor !== describeCard(form)) withdrawChoice(form)
  }
  form.addEventListener('input', leaveIfOther)
  form.addEventListener('change', leaveIfOther)
  for (const button of findAll('[name="dcc"]', choice)) {
    button.addEventListener('change', () => {
      showError(button, '')
      setButtonText(form, button.dataset.button)
    })
  }
}

function showAnswer(form, { title, message, errors = {}, attempt, choice }) {
  const notice = find('[data-notice]')
  if (choice === null) withdrawChoice(form)
  else if (choice !== undefined) showChoice(form, choice)
  if (attempt !== undefined) for (const field of findAll('input[name="attempt"]')) field.value = attempt
  showErrors(form, errors)
  const usual = message ? notice?.dataset.declined : notice?.dataset.title
  const isOnlyAsked = choice && !message && Object.keys(errors).length === 0
  showNotice(isOnlyAsked ? '' : (title ?? usual), message, errors)
  if (isOnlyAsked) find('[data-choice]', form)?.focus()
}

/** The merchant has changed the amount: nobody may agree to one that the page does not show. */
const isDueOutdated = ({ due }) => due !== undefined && due !== find('[data-due]')?.dataset.due

async function pay(form) {
  setBusy(form, true)
  showNotice('', '', {})
  try {
    const answer = await send(form)
    // Busy until the next page is there: the button must not come back to life in between.
    if (answer.redirect !== undefined) return location.assign(answer.redirect)
    if (isDueOutdated(answer)) return location.assign(location.pathname)
    setBusy(form, false)
    showAnswer(form, answer)
  } catch {
    setBusy(form, false)
    showAnswer(form, { title: form.dataset.lost })
  }
}

/** The mistakes of a form by field; each is shown at its field. */
function findErrors(form) {
  const errors = {}
  for (const field of visibleFields(form)) {
    const text = checkField(field)
    if (text !== '') errors[field.name] = text
  }
  return errors
}

function showErrors(form, errors) {
  for (const field of visibleFields(form))
    if (errors[field.name] !== undefined) showError(field, errors[field.name])
}

function onPaySubmit(event) {
  const form = event.currentTarget
  event.preventDefault()
  if (isBusy(form)) return
  const errors = findErrors(form)
  if (Object.keys(errors).length === 0) return void pay(form)
  showNotice(find('[data-notice]')?.dataset.title, '', errors)
}

/**
 * A form that only redirects. Browsers apply the policy of its page to every redirect that follows a form, also to
 * redirects of the shop's own site: the customer would be stuck if the shop redirects to another origin. Opening an
 * address has no such limit.
 */
async function onOnceSubmit(event) {
  const form = event.currentTarget
  const button = event.submitter
  // Submitted as without a script, because the request by script failed: the browser shows the server's answer.
  if (form.hasAttribute('data-plain')) return form.removeAttribute('data-plain')
  event.preventDefault()
  if (isBusy(form)) return
  setBusy(form, true)
  const { redirect } = await send(form, button).catch(() => ({}))
  if (redirect !== undefined) return location.assign(redirect)
  form.toggleAttribute('data-plain', true)
  form.requestSubmit(button)
}

/**
 * Fields of methods that are not chosen are not sent: the chosen method does not need a card number that was typed
 * before.
 */
function disableUnchosen() {
  for (const panel of findAll('.panel')) {
    const isChosen = find(':scope > .option input', panel.parentElement)?.checked === true
    for (const field of findAll('input', panel)) field.disabled = !isChosen
  }
  const another = find('[data-new-card]')
  if (another !== null && !another.disabled) {
    for (const field of findAll('.card-fields input')) field.disabled = !another.checked
  }
}

function startCardNumber() {
  const field = document.getElementById('number')
  if (field === null) return
  const code = document.getElementById('securityCode')
  const hint = document.getElementById('securityCode-hint')
  const mark = find('[data-brand] use')
  const update = event => {
    if (event?.isComposing) return
    rewrite(field, value => groupNumber(toDigits(value)), /\D/g)
    const brand = detectBrand(toDigits(field.value))
    const known = document.getElementById(`b-${brand}`) === null ? 'unknown' : brand
    mark?.setAttribute('href', `#b-${known}`)
    if (hint !== null && code !== null)
      hint.textContent = code.dataset[brand === 'amex' ? 'front' : 'back'] ?? ''
  }
  field.addEventListener('input', update)
  // Autofill of some browsers fires only `change`.
  field.addEventListener('change', update)
  if (field.value !== '') update()
}

function startExpiry() {
  const field = document.getElementById('expiry')
  field?.addEventListener('input', event => {
    // Deleting and editing in the middle are not reformatted until the customer leaves the field.
    if (
      event.isComposing ||
      event.inputType?.startsWith('delete') ||
      field.selectionStart !== field.value.length
    )
      return
    field.value = formatExpiry(field.value)
  })
  field?.addEventListener('change', () => {
    const date = parseExpiry(field.value)
    if (date)
      field.value = `${String(date.month).padStart(2, '0')}/${String(date.year % 100).padStart(2, '0')}`
  })
}

function startIban() {
  const field = document.getElementById('iban')
  field?.addEventListener('input', event => {
    if (!event.isComposing) rewrite(field, groupIban, /[^A-Z0-9]/gi)
  })
}

/** Actions that wait for the end of a press; undefined while nothing is pressed. */
let held

/**
 * Pressing the button first blurs the field. An error line that appeared then would move the button away from under the
 * pointer, and the release would hit something else.
 */
function afterPress(act) {
  if (held === undefined) act()
  else held.push(act)
}

function startPress() {
  addEventListener('pointerdown', () => {
    held ??= []
  })
  for (const end of ['pointerup', 'pointercancel'])
    addEventListener(end, () => {
      const acts = held ?? []
      held = undefined
      // The click comes first.
      setTimeout(() => {
        for (const act of acts) act()
      })
    })
}

function startForms() {
  for (const form of findAll('form[data-pay], form[data-fields]')) {
    if (form.matches('[data-pay]')) form.addEventListener('submit', onPaySubmit)
    form.addEventListener('change', disableUnchosen)
    startChoice(form)
    for (const field of findAll('input', form).filter(({ name }) => name in checks)) {
      // Leaving an empty field shows no error yet. A wrong entry shows its error at once, and the error disappears as
      // soon as the entry is right.
      field.addEventListener('blur', () => {
        if (field.value !== '' && !['checkbox', 'radio'].includes(field.type))
          afterPress(() => checkField(field))
      })
      field.addEventListener(
        'input',
        () => field.getAttribute('aria-invalid') === 'true' && checkField(field),
      )
    }
  }
  for (const form of findAll('form[data-once]')) form.addEventListener('submit', onOnceSubmit)
  disableUnchosen()
}

function startTestCards() {
  for (const button of findAll('[data-test-card]')) {
    button.addEventListener('click', () => {
      const set = (id, value) => {
        const field = document.getElementById(id)
        if (field === null) return
        field.value = value
        field.dispatchEvent(new Event('input', { bubbles: true }))
        showError(field, '')
      }
      set('number', toDigits(find('.code', button).textContent))
      set('expiry', button.dataset.testCard)
      set('securityCode', '123')
      if (document.getElementById('cardholderName')?.value === '') set('cardholderName', 'Test Customer')
      button.closest('details').open = false
      document.getElementById('number')?.focus()
    })
  }
}

function startSearch() {
  const more = find('[data-more]')
  const box = find('[data-search]')
  if (more === null || box === null) return
  box.hidden = false
  const status = find('[data-found]', more)
  const plain = text => text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase()
  find('input', box).addEventListener('input', event => {
    const wanted = plain(event.currentTarget.value.trim())
    let count = 0
    for (const group of findAll('[data-group]', more)) {
      const methods = findAll('[data-method]', group)
      for (const method of methods)
        method.hidden = !plain(find('.option', method).textContent).includes(wanted)
      const shown = methods.filter(method => !method.hidden).length
      group.hidden = shown === 0
      count += shown
    }
    find('[data-nothing]', more).hidden = count > 0
    status.textContent = wanted === '' ? '' : status.dataset.found.replace('{count}', String(count))
  })
  // Enter in the search must not pay.
  find('input', box).addEventListener('keydown', event => event.key === 'Enter' && event.preventDefault())
}

function startCopy() {
  for (const button of findAll('[data-copy]')) {
    const word = find('span', button)
    const before = word.textContent
    button.addEventListener('click', async () => {
      try {
        await navigator.clipboard.writeText(button.dataset.copy)
        word.textContent = button.dataset.copied
        word.removeAttribute('aria-hidden')
        word.setAttribute('role', 'status')
      } catch {
        // The browser does not allow copying here: select the text, so that the customer's own shortcut copies it.
        getSelection().selectAllChildren(button.previousElementSibling)
        word.textContent = before
      }
    })
  }
  for (const button of findAll('[data-print]')) button.addEventListener('click', () => print())
}

function start() {
  startCardNumber()
  startExpiry()
  startIban()
  startPress()
  startForms()
  startTestCards()
  startSearch()
  startCopy()
  startFrame()
  startCardFields({ findErrors, showErrors, send })
  // Redirects to the provider once only, so that the back button does not redirect there again.
  if (performance.getEntriesByType('navigation')[0]?.type !== 'back_forward')
    findAll('form[data-onward]')[0]?.submit()
  // The back button restores the page as the customer left it; it must be possible to pay from it again.
  addEventListener('pageshow', event => {
    if (event.persisted) for (const form of findAll('form[aria-busy]')) setBusy(form, false)
  })
}

start()
