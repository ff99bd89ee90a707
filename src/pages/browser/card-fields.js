/**
 * Card fields inside a shop's page. The shop asks for a token; the card goes to our own origin, and only the token, the last
 * four digits, the brand and the date go up to the shop, at the origin that asked. Only sites on the merchant's list can
 * frame us (`frame-ancestors`), and only the window above us is listened to.
 */
export function startCardFields({ findErrors, showErrors, send }) {
  const form = document.querySelector('form[data-fields]')
  if (form === null || window.parent === window) return
  let isBusy = false
  let host
  const tell = message => host !== undefined && window.parent.postMessage(message, host)

  async function tokenize() {
    const errors = findErrors(form)
    const [first] = Object.keys(errors)
    if (first !== undefined) {
      document.getElementById(first)?.focus()
      return { error: errors[first], fields: Object.keys(errors) }
    }
    const { token, card, errors: refused = {}, message, title } = await send(form)
    if (token !== undefined) return { token, card }
    showErrors(form, refused)
    const [mistake = form.dataset.broken] = Object.values(refused)
    return { error: message ?? title ?? mistake, fields: Object.keys(refused) }
  }

  async function answer(id) {
    if (isBusy) return tell({ type: 'tollgate:token', id, error: form.dataset.sending, fields: [] })
    isBusy = true
    try {
      tell({ type: 'tollgate:token', id, ...(await tokenize()) })
    } catch {
      tell({ type: 'tollgate:token', id, error: form.dataset.lost, fields: [] })
    } finally {
      isBusy = false
    }
  }

  addEventListener('message', event => {
    if (event.source !== window.parent) return
    if (event.data?.type === 'tollgate:hello') {
      host = event.origin
      tell({ type: 'tollgate:ready' })
    }
    if (event.data?.type === 'tollgate:tokenize' && event.origin === host) answer(event.data.id)
  })
  form.addEventListener('input', () => {
    const isFilled = [...form.querySelectorAll('input')].every(field => field.value.trim() !== '')
    tell({ type: 'tollgate:change', isFilled })
  })
  // Enter in a field acts like the shop's own button.
  form.addEventListener('submit', event => {
    event.preventDefault()
    tell({ type: 'tollgate:submit' })
  })
}
