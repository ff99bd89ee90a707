/**
 * What the payment pages do better with a script: digits in groups, mistakes told at once, a form that is sent once and
 * keeps what was typed after a decline. It talks to its own origin only, stores nothing, and no page needs it.
 */

/** As domain/card-numbers.ts: the first range that fits decides. From, to, brand. */
const brandRanges = [
  ['4', '4', 'visa'],
  ['2200', '2204', 'mir'],
  ['2221', '2720', 'mastercard'],
  ['51', '55', 'mastercard'],
  ['34', '34', 'amex'],
  ['37', '37', 'amex'],
  ['300', '305', 'diners'],
  ['3095', '3095', 'diners'],
  ['36', '36', 'diners'],
  ['38', '39', 'diners'],
  ['3528', '3589', 'jcb'],
  ['6011', '6011', 'discover'],
  ['644', '649', 'discover'],
  ['65', '65', 'discover'],
  ['62', '62', 'unionpay'],
  ['81', '81', 'unionpay'],
  ['9792', '9792', 'troy'],
  ['50', '50', 'maestro'],
  ['56', '58', 'maestro'],
  ['60', '69', 'maestro'],
]

export function detectBrand(digits) {
  for (const [from, to, brand] of brandRanges) {
    const lead = digits.slice(0, from.length)
    if (lead >= from && lead <= to) return brand
  }
  return 'unknown'
}

/** Digits of every script that keyboards and autofill may bring, as plain ones; everything else goes. */
export const toDigits = text =>
  text
    .replace(/[\u0660-\u0669\u06f0-\u06f9\u0966-\u096f\uff10-\uff19]/g, digit =>
      String(
        (digit.charCodeAt(0) -
          (digit < '\u06f0' ? 0x660 : digit < '\u0966' ? 0x6f0 : digit < '\uff10' ? 0x966 : 0xff10)) %
          10,
      ),
    )
    .replace(/\D/g, '')

/** Four by four; the brands with fifteen digits and a 3 in front write 4, 6, 5. */
export const groupNumber = digits =>
  /^3[47]/.test(digits)
    ? [digits.slice(0, 4), digits.slice(4, 10), digits.slice(10)].filter(Boolean).join(' ')
    : digits.replace(/(\d{4})(?=\d)/g, '$1 ')

export function passesLuhn(digits) {
  let sum = 0
  for (let i = 0; i < digits.length; i++) {
    const digit = Number(digits[digits.length - 1 - i]) * (i % 2 === 0 ? 1 : 2)
    sum += digit > 9 ? digit - 9 : digit
  }
  return sum % 10 === 0
}

/** 12/29, 12/2029, 12 29, 1229, 2029-12: month and full year, or undefined. */
export function parseExpiry(text) {
  const turned = /^\s*(\d{4})-(\d{2})\s*$/.exec(text)
  const parts = turned ? [turned[2], turned[1]] : text.split(/\D+/).filter(Boolean)
  const [month, year] = parts.length === 1 ? [parts[0].slice(0, 2), parts[0].slice(2)] : parts
  if (parts.length > 2 || !/^(0?[1-9]|1[0-2])$/.test(month ?? '') || !/^(\d{2}|20\d{2})$/.test(year ?? ''))
    return undefined
  return { month: Number(month), year: (Number(year) % 100) + 2000 }
}

/** While it is typed. A month that can only have one digit gets its zero; the slash comes by itself. */
export function formatExpiry(text) {
  if (/^\s*\d{4}-\d{2}\s*$/.test(text) || /\d\D+\d{4}/.test(text)) {
    const date = parseExpiry(text)
    if (date) return `${String(date.month).padStart(2, '0')}/${date.year % 100}`
  }
  const short = /^\s*(\d)\s*[/.\- ]/.exec(text)
  let digits = toDigits(text)
  if (short || /^[2-9]/.test(digits)) digits = `0${digits}`
  return digits.length < 2 ? digits : `${digits.slice(0, 2)}/${digits.slice(2, 6)}`
}

export const groupIban = text =>
  text
    .toUpperCase()
    .replace(/[^A-Z0-9]/g, '')
    .replace(/(.{4})(?=.)/g, '$1 ')

export function isIban(text) {
  const iban = text.toUpperCase().replace(/[^A-Z0-9]/g, '')
  if (!/^[A-Z]{2}\d{2}[A-Z0-9]{11,30}$/.test(iban)) return false
  let rest = 0
  for (const character of iban.slice(4) + iban.slice(0, 4)) {
    const value = Number.parseInt(character, 36)
    rest = (rest * (value > 9 ? 100 : 10) + value) % 97
  }
  return rest === 1
}

/** The kind of mistake of a field, or ''. The words lie in the field's own data. `now` is the customer's clock. */
export const checks = {
  number: value => {
    const digits = toDigits(value)
    if (digits === '') return 'missing'
    if (digits.length < 12) return 'short'
    return digits.length <= 19 && passesLuhn(digits) ? '' : 'wrong'
  },
  expiry: (value, now = new Date()) => {
    if (value.trim() === '') return 'missing'
    const date = parseExpiry(value)
    if (date === undefined) return 'wrong'
    // A day's grace: a card is valid until its month has ended everywhere.
    return Date.UTC(date.year, date.month, 2) < now.getTime() ? 'past' : ''
  },
  securityCode: value => (value.trim() === '' ? 'missing' : /^\d{3,4}$/.test(toDigits(value)) ? '' : 'wrong'),
  cardholderName: value => (value.trim() === '' ? 'missing' : value.trim().length < 2 ? 'wrong' : ''),
  accountHolder: value => (value.trim() === '' ? 'missing' : value.trim().length < 2 ? 'wrong' : ''),
  iban: value => (value.trim() === '' ? 'missing' : isIban(value) ? '' : 'wrong'),
  consent: (_, __, field) => (field.checked ? '' : 'missing'),
}

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
  if (text === '') field.removeAttribute('aria-invalid')
  else field.setAttribute('aria-invalid', 'true')
  field.closest('.field, .tick')?.toggleAttribute('data-wrong', text !== '')
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
  notice.hidden = title === ''
  notice.replaceChildren()
  if (title === '') return
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
async function send(form) {
  const response = await fetch(form.action, {
    method: 'POST',
    body: new URLSearchParams(new FormData(form)),
    headers: { accept: 'application/json' },
    credentials: 'same-origin',
    signal: AbortSignal.timeout(answerTimeoutMs),
  })
  if (!(response.headers.get('content-type') ?? '').includes('application/json')) {
    if (response.status >= 500) return { message: form.dataset.broken }
    return { redirect: location.href }
  }
  return response.json()
}

function showAnswer(form, { message, errors = {}, attempt }) {
  const notice = find('[data-notice]')
  if (attempt !== undefined) for (const field of findAll('input[name="attempt"]')) field.value = attempt
  for (const field of visibleFields(form))
    if (errors[field.name] !== undefined) showError(field, errors[field.name])
  const title = message ? notice?.dataset.declined : notice?.dataset.title
  showNotice(title ?? '', message, errors)
}

async function pay(form) {
  setBusy(form, true)
  showNotice('', '', {})
  try {
    const answer = await send(form)
    // Busy until the next page is there: the button must not come back to life in between.
    if (answer.redirect !== undefined) return location.assign(answer.redirect)
    setBusy(form, false)
    showAnswer(form, answer)
  } catch {
    setBusy(form, false)
    showAnswer(form, { message: form.dataset.lost })
  }
}

function onPaySubmit(event) {
  const form = event.currentTarget
  event.preventDefault()
  if (isBusy(form)) return
  const errors = {}
  for (const field of visibleFields(form)) {
    const text = checkField(field)
    if (text !== '') errors[field.name] = text
  }
  if (Object.keys(errors).length === 0) return void pay(form)
  showNotice(find('[data-notice]')?.dataset.title ?? '', '', errors)
}

/** Fields of a method that is not chosen are not sent: nobody else needs the card number that was typed first. */
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
  // Autofill of some browsers tells of itself only by change.
  field.addEventListener('change', update)
  if (field.value !== '') update()
}

function startExpiry() {
  const field = document.getElementById('expiry')
  field?.addEventListener('input', event => {
    // Whoever deletes or edits in the middle is left alone until the field is left.
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

function startForms() {
  for (const form of findAll('form[data-pay]')) {
    form.addEventListener('submit', onPaySubmit)
    form.addEventListener('change', disableUnchosen)
    for (const field of findAll('input', form).filter(({ name }) => name in checks)) {
      // Leaving an empty field says nothing yet; what is wrong is told at once, and taken back as soon as it is right.
      field.addEventListener(
        'blur',
        () => field.value !== '' && field.type !== 'checkbox' && checkField(field),
      )
      field.addEventListener(
        'input',
        () => field.getAttribute('aria-invalid') === 'true' && checkField(field),
      )
    }
  }
  for (const form of findAll('form[data-once]')) {
    form.addEventListener('submit', event => {
      if (isBusy(form)) event.preventDefault()
      else setBusy(form, true)
    })
  }
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
      set('number', button.dataset.testCard)
      set('expiry', `12/${(new Date().getFullYear() + 3) % 100}`)
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
        // Not allowed here: the text is selected, so that the customer's own shortcut copies it.
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
  startForms()
  startTestCards()
  startSearch()
  startCopy()
  // The back button brings the page as it was left; it must be possible to pay from it again.
  addEventListener('pageshow', event => {
    if (event.persisted) for (const form of findAll('form[aria-busy]')) setBusy(form, false)
  })
}

// Also loaded by tests, which have no document.
if (typeof document !== 'undefined') start()
