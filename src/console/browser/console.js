/*
 * Small conveniences of the console. Everything works without them, except passkeys, which browsers offer to scripts
 * only.
 */

const decode = text =>
  Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), letter => letter.charCodeAt(0))
const encode = bytes =>
  btoa(String.fromCharCode(...new Uint8Array(bytes)))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')

async function makePasskey(options) {
  const credential = await navigator.credentials.create({
    publicKey: {
      ...options,
      challenge: decode(options.challenge),
      user: { ...options.user, id: decode(options.user.id) },
      excludeCredentials: [],
    },
  })
  const { attestationObject, clientDataJSON } = credential.response
  return describe(credential, {
    attestationObject: encode(attestationObject),
    clientDataJSON: encode(clientDataJSON),
  })
}

async function usePasskey(options) {
  const credential = await navigator.credentials.get({
    publicKey: { ...options, challenge: decode(options.challenge), allowCredentials: [] },
  })
  const { authenticatorData, clientDataJSON, signature, userHandle } = credential.response
  return describe(credential, {
    authenticatorData: encode(authenticatorData),
    clientDataJSON: encode(clientDataJSON),
    signature: encode(signature),
    userHandle: userHandle ? encode(userHandle) : undefined,
  })
}

const describe = (credential, response) => ({
  id: credential.id,
  rawId: encode(credential.rawId),
  type: credential.type,
  response,
  clientExtensionResults: credential.getClientExtensionResults(),
})

for (const form of document.querySelectorAll('[data-passkey]')) {
  if (!window.PublicKeyCredential) continue
  form.hidden = false
  form.addEventListener('submit', async event => {
    event.preventDefault()
    const options = JSON.parse(form.dataset.options)
    try {
      const credential =
        form.dataset.passkey === 'create' ? await makePasskey(options) : await usePasskey(options)
      form.elements.credential.value = JSON.stringify(credential)
      form.submit()
    } catch {
      // The person closed the dialogue, or has no passkey here: the form stays as it is.
    }
  })
}

// A second click while a form is being sent would cancel the first answer. After a while the person may submit it
// again.
document.addEventListener('submit', event => {
  const form = event.target
  if (form.method !== 'post' || event.defaultPrevented) return
  if (form.dataset.sent) return event.preventDefault()
  form.dataset.sent = 'yes'
  setTimeout(() => delete form.dataset.sent, 5000)
})
window.addEventListener('pageshow', () => {
  for (const form of document.querySelectorAll('[data-sent]')) delete form.dataset.sent
})

function addCopyButtons(root) {
  for (const code of root.querySelectorAll('[data-copy]')) {
    const button = document.createElement('button')
    button.type = 'button'
    button.className = 'copy'
    button.textContent = 'Copy'
    button.addEventListener('click', async () => {
      await navigator.clipboard.writeText(code.textContent)
      button.textContent = 'Copied'
      setTimeout(() => {
        button.textContent = 'Copy'
      }, 2000)
    })
    code.after(button)
  }
}
addCopyButtons(document)

// On a phone the navigation is one long row: scroll the current entry into view.
for (const here of document.querySelectorAll('nav [aria-current], .tabs [aria-current]'))
  here.parentElement.parentElement.closest('nav, .tabs')?.scrollTo({ left: here.offsetLeft - 80 })

// Reloads the page of a waiting payment until it waits no longer, and replaces the content only when it has changed.
// The header marks the request as automatic, so that it does not extend the session of a person who has left.
async function refresh(waiting) {
  const main = document.querySelector('main')
  const answer = await fetch(location.pathname, { headers: { 'x-refresh': '1' } }).catch(() => undefined)
  if (answer?.redirected) return location.reload()
  const text = answer?.ok ? await answer.text() : ''
  const fresh = new DOMParser().parseFromString(text, 'text/html').querySelector('main')
  const next = fresh?.querySelector('[data-version]')
  if (next && next.dataset.version !== waiting.dataset.version) {
    const focused = document.activeElement?.closest('main a[href]')?.getAttribute('href')
    main.replaceChildren(...fresh.childNodes)
    addCopyButtons(main)
    if (focused) main.querySelector(`a[href="${CSS.escape(focused)}"]`)?.focus()
  }
  keepFresh()
}

function keepFresh() {
  const waiting = document.querySelector('[data-refresh]:not([data-refresh=""])')
  if (!waiting) return
  setTimeout(() => (document.hidden ? keepFresh() : refresh(waiting)), Number(waiting.dataset.refresh) * 1000)
}
keepFresh()

// Shortcuts: / searches, g and a letter goes to a page, ? lists them all.
const places = [...document.querySelectorAll('nav [data-key]')]
let isGoing = false

function toggleKeys() {
  const shown = document.querySelector('.keys')
  if (shown) return shown.remove()
  const panel = document.createElement('aside')
  panel.className = 'keys'
  panel.setAttribute('role', 'status')
  const list = document.createElement('ul')
  const rows = [
    ['/', 'Search'],
    ['?', 'These shortcuts'],
    ...places.map(link => [`g ${link.dataset.key}`, link.textContent]),
  ]
  for (const [keys, title] of rows) {
    const row = document.createElement('li')
    for (const key of keys.split(' ')) {
      const cap = document.createElement('kbd')
      cap.textContent = key
      row.append(cap, ' ')
    }
    row.append(title)
    list.append(row)
  }
  panel.append(list)
  document.body.append(panel)
}

document.addEventListener('keydown', event => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest('input, textarea, select'))
    return
  const place = isGoing && places.find(link => link.dataset.key === event.key)
  isGoing = event.key === 'g' && !isGoing
  if (place) place.click()
  else if (event.key === '?') toggleKeys()
  else if (event.key === 'Escape') document.querySelector('.keys')?.remove()
  else if (event.key === '/') {
    event.preventDefault()
    document.querySelector('#q')?.focus()
  }
})
